package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Contestants that need more than Go: Redisson and node-redisson. They take part where a goal is compared with them. Where one cannot be had, the
// reason is printed in place of its rows.

// foreign is a program in another language, which is a helper as long as the benchmark lasts: a
// compiler that works while the program runs needs seconds of practice.
type foreign struct {
	command  func() *exec.Cmd
	version  string
	practice []order
}

// buildJava compiles the contestant in Java unless that has been done.
func buildJava(ctx context.Context) (foreign, error) {
	if err := build(ctx, "java/build", "java", "javac", "mvn"); err != nil {
		return foreign{}, err
	}
	path, release, err := findIn("java/target/classpath", `redisson-([0-9.]+)\.jar`)
	return foreign{
		command: func() *exec.Cmd {
			return exec.Command("java", "-cp", "java/target/classes:"+path, "redlatch.bench.Contestant")
		},
		version: release,
		practice: []order{
			{Task: taskPairs, Workers: 64, Locks: 64}, {Task: taskPairs, Workers: 1, Locks: 1}, {Task: taskContend, Workers: 8, Locks: 1},
		},
	}, err
}

// buildNode installs node-redisson unless that has been done.
func buildNode(ctx context.Context) (foreign, error) {
	const probe = "../interop/node"
	if err := build(ctx, probe+"/build", "node", "npm"); err != nil {
		return foreign{}, err
	}
	packages := filepath.Join(probe, "target", "node_modules")
	_, release, err := findIn(filepath.Join(packages, "node-redisson", "package.json"), `"version": *"([^"]+)"`)
	return foreign{
		command: func() *exec.Cmd {
			node := exec.Command("node", "node/contestant.js")
			node.Env = append(os.Environ(), "NODE_PATH="+packages)
			return node
		},
		version:  release,
		practice: []order{{Task: taskContend, Workers: 2, Locks: 1}},
	}, err
}

// build runs a script that needs these programs.
func build(ctx context.Context, script string, programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, script).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", script, err, out)
	}
	return nil
}

// findIn returns the text of a file, and what a pattern finds in it.
func findIn(path, pattern string) (text, found string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	text = strings.TrimSpace(string(content))
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return text, "", fmt.Errorf("no %s in %s", pattern, path)
	}
	return text, match[1], nil
}

// practise has a new helper warm up, so that its code is compiled.
func (b *bench) practise(ctx context.Context, c contestant, h *helper) error {
	for _, o := range b.foreign[c.name].practice {
		o.Address, o.For, o.Name = b.server.address, b.plan.time(2*time.Second), freshName("practice")
		if _, err := (helpers{h}).perform(ctx, []order{o}, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

var errNotAsked = errors.New("only in the full run")

// openForeign gets the contestants that need more than Go, and remembers why if one cannot be had.
func (b *bench) openForeign(ctx context.Context) error {
	b.resident, b.foreign, b.absent = map[string]helpers{}, map[string]foreign{}, map[string]string{}
	for name, get := range map[string]func() (foreign, error){
		nameRedisson: func() (foreign, error) { return buildJava(ctx) },
		nameNode:     func() (foreign, error) { return buildNode(ctx) },
	} {
		f, err := foreign{}, errNotAsked
		if b.plan.foreign {
			f, err = get()
		}
		if err != nil {
			b.absent[name] = err.Error()
		}
		if f.command != nil {
			b.foreign[name] = f
		}
	}
	return ctx.Err()
}

// present leaves out who cannot be had.
func (b *bench) present(all []contestant) []contestant {
	return slices.DeleteFunc(slices.Clone(all), func(c contestant) bool { return b.absent[c.name] != "" })
}
