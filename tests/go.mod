module github.com/redlatch/redlatch/tests

go 1.26.0

require github.com/redlatch/redlatch v0.0.0

replace github.com/redlatch/redlatch => ../
