// Command mutants breaks the code on purpose, one place at a time, and checks that tests notice.
// "make mutants" runs it.
//
// Operators make the mutants, over the syntax tree of Go and over the tokens of the scripts: a condition
// that never or always holds, a statement or a line that is gone, an operand, an argument or a field that
// is gone, an error that is dropped, a number that is off by one, two arguments that are swapped, another
// comparison. Only what compiles counts. Logging, messages, hints of capacity, errors of the programmer
// and locks of memory are left alone. So is what stands outside of functions.
//
// The table in rooms.go says which tests run for a room, the nearest first. A mutant is killed by the first
// test that fails, or by a hang: several times what the tests take on the code as it is. A test that fails
// on the code as it is is named and left out. All chosen mutants share one build for each package of tests,
// by an overlay. The tree itself is not changed. The command prints the score, and each survivor with its
// change.
//
// With -hand it tries the list of list.go instead. Each test that an entry names has to fail by itself, and
// not for another reason, such as Lua that does not run. The command exits with 1 if an entry survives, and
// with 2 if the list does not fit the code.
//
// With -machines it puts the same list before the programs that search by themselves (machines.go), for so long
// each, and writes into docs/how-we-know.md how soon each found what. A program that fails on the code as it is
// ends the run. A program that does not run the code of an entry gets a dash.
//
//	-list        print the mutants instead
//	-hand        take the list by hand
//	-only re     take only mutants whose place, change or tests match it
//	-sample n    take n at random; the seed is printed. Default: all
//	-seed n      of the sample
//	-jobs n      try n at a time. Default: 2
//	-machines d  let each machine search for each mutant of the list for so long
//	-docs        write the last column of the tables in docs/guarantees.md instead
package main
