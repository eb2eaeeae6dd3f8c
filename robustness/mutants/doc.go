// Command mutants breaks the code on purpose, one line at a time, and checks that tests notice.
// "make mutants" runs it.
//
// The table (table_*.go) has an entry for each mutation: the file, its old text and its new text,
// what is wrong then, and the tests that have to fail. Each of these tests has to fail by itself: a
// test that passes is a survivor. The command prints the survivors and the score, and exits with 1
// if there is one.
//
// A mutation is put into the build by an overlay. The tree itself is not changed. Before the first
// mutation all tests of the chosen entries run once on the code as it is, and have to pass.
//
// These are errors of the table, not results: an old text that does not occur exactly once, a test
// that does not exist, Go that does not compile, Lua that does not compile or that fails at run
// time, and a test that hangs or panics. They are printed, and the command exits with 2.
//
//	-list          print the entries instead
//	-only regexp   take only entries whose file, tests or sentence match it
//	-sample n      take n entries at random; the seed is printed
//	-seed n        of the sample
//	-jobs n        try n at a time. Default: 2
//	-baseline=false  skip the run on the code as it is
//	-docs          write the last column of the tables in docs/guarantees.md instead
package main
