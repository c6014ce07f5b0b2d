module stopwatch

go 1.26
