// Starts programs and measures them from stdin to exit, with less of its own than Node adds (2 ms a process).
// stdin: {"programs": [{"command": ["program", "word"...], "environment": ["NAME=value"...]}...], "input": "...", "runs": 60}
// stdout: {"samples": [[{"ms": 7.5, "output": "..."}...]...]}, in the order of the programs.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

type program struct {
	Command     []string `json:"command"`
	Environment []string `json:"environment"`
}

type plan struct {
	Programs []program `json:"programs"`
	Input    string    `json:"input"`
	Runs     int       `json:"runs"`
}

type sample struct {
	Milliseconds float64 `json:"ms"`
	Output       string  `json:"output"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var todo plan
	if err := json.NewDecoder(os.Stdin).Decode(&todo); err != nil {
		return err
	}
	samples := make([][]sample, len(todo.Programs))
	// in turn, so that what else the machine does meets all of them; the first round warms up
	for round := -1; round < todo.Runs; round++ {
		for index, each := range todo.Programs {
			taken, err := measure(each, todo.Input)
			if err != nil {
				return fmt.Errorf("%s: %w", each.Command[0], err)
			}
			if round >= 0 {
				samples[index] = append(samples[index], taken)
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"samples": samples})
}

func measure(each program, input string) (sample, error) {
	inputRead, inputWrite, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	outputRead, outputWrite, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	defer outputRead.Close()
	// smaller than a pipe, so that it is there when the program asks
	if _, err := inputWrite.WriteString(input); err != nil {
		return sample{}, err
	}
	inputWrite.Close()
	began := time.Now()
	pid, err := syscall.ForkExec(each.Command[0], each.Command, &syscall.ProcAttr{
		Env:   each.Environment,
		Files: []uintptr{inputRead.Fd(), outputWrite.Fd(), os.Stderr.Fd()},
	})
	inputRead.Close()
	outputWrite.Close()
	if err != nil {
		return sample{}, err
	}
	output, err := io.ReadAll(outputRead)
	if err != nil {
		return sample{}, err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return sample{}, err
	}
	elapsed := time.Since(began)
	if status.ExitStatus() != 0 {
		return sample{}, fmt.Errorf("ended with %d", status.ExitStatus())
	}
	return sample{Milliseconds: float64(elapsed.Nanoseconds()) / 1e6, Output: string(output)}, nil
}
