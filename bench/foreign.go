package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Contestants that need more than Go: Redisson, node-redisson and etcd. Where one cannot be had, the
// reason is printed in place of its rows.

// foreign is a program in another language, which is a helper as long as the benchmark lasts: a
// compiler that works while the program runs needs seconds of practice.
type foreign struct {
	command func() *exec.Cmd
	small   func() *exec.Cmd // for what needs no speed
	version string
	warmUp  []order
}

// javaSmall makes all of the heap resident from the start, so that whatever else the process grows by
// is outside of it.
var javaSmall = []string{"-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"}

func java(path string, flags ...string) func() *exec.Cmd {
	return func() *exec.Cmd {
		return exec.Command("java", append(flags, "-cp", "java/target/classes:"+path, "redlatch.bench.Contestant")...)
	}
}

// buildJava compiles the contestant in Java unless that has been done.
func buildJava(ctx context.Context) (foreign, error) {
	for _, program := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return foreign{}, err
		}
	}
	if out, err := exec.CommandContext(ctx, "java/build").CombinedOutput(); err != nil {
		return foreign{}, fmt.Errorf("java/build: %w: %.500s", err, out)
	}
	text, err := os.ReadFile("java/target/classpath")
	if err != nil {
		return foreign{}, err
	}
	path := strings.TrimSpace(string(text))
	release := regexp.MustCompile(`redisson-([0-9.]+)\.jar`).FindStringSubmatch(path)
	if release == nil {
		return foreign{}, fmt.Errorf("no Redisson in its class path")
	}
	return foreign{
		command: java(path), small: java(path, javaSmall...), version: release[1],
		warmUp: []order{
			{Task: taskPairs, Name: "practice", Workers: 64},
			{Task: taskPairs, Name: "practice", Workers: 1},
			{Task: taskContend, Name: "practice", Workers: 8},
		},
	}, nil
}

// buildNode installs node-redisson unless that has been done.
func buildNode(ctx context.Context) (foreign, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return foreign{}, err
		}
	}
	const probe = "../interop/node"
	if out, err := exec.CommandContext(ctx, probe+"/build").CombinedOutput(); err != nil {
		return foreign{}, fmt.Errorf("%s/build: %w: %.500s", probe, err, out)
	}
	packages := filepath.Join(probe, "target", "node_modules")
	text, err := os.ReadFile(filepath.Join(packages, "node-redisson", "package.json"))
	if err != nil {
		return foreign{}, err
	}
	release := regexp.MustCompile(`"version": *"([^"]+)"`).FindSubmatch(text)
	if release == nil {
		return foreign{}, fmt.Errorf("node-redisson does not tell its version")
	}
	return foreign{
		command: func() *exec.Cmd {
			node := exec.Command("node", "node/contestant.js")
			node.Env = append(os.Environ(), "NODE_PATH="+packages)
			return node
		},
		version: string(release[1]),
		warmUp:  []order{{Task: taskContend, Name: "practice", Workers: 2}},
	}, nil
}

// residents returns n helpers of a foreign entrant, which stay.
func (b *bench) residents(ctx context.Context, name string, n int) (helpers, error) {
	f := b.foreign[name]
	var added helpers
	for len(b.resident[name])+len(added) < n {
		h, err := startHelper(f.command())
		if err != nil {
			added.end()
			return nil, err
		}
		added = append(added, h)
	}
	b.resident[name] = append(b.resident[name], added...)
	for _, o := range f.warmUp {
		orders := make([]order, len(added))
		for i := range orders {
			orders[i] = o
			orders[i].Address, orders[i].For = b.server.address, b.plan.practice
			orders[i].Name = fmt.Sprintf("%s:%d", o.Name, i)
		}
		if _, _, err := added.perform(ctx, orders); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.resident[name][:n], nil
}

// fresh returns n helpers of an entrant that nobody has used.
func (b *bench) fresh(ctx context.Context, e entrant, n int) (c helpers, err error) {
	if !e.foreign {
		return self(ctx, n)
	}
	for range n {
		h, err := startHelper(b.foreign[e.name].small())
		if err != nil {
			c.end()
			return nil, err
		}
		c = append(c, h)
	}
	return c, nil
}

// openForeign gets the contestants that need more than Go, and remembers why if one cannot be had.
func (b *bench) openForeign(ctx context.Context) error {
	b.resident, b.foreign, b.absent = map[string]helpers{}, map[string]foreign{}, map[string]string{}
	for name, build := range map[string]func(context.Context) (foreign, error){
		nameRedisson: buildJava, nameNode: buildNode,
	} {
		f, err := foreign{}, errNotAsked
		if b.plan.foreign {
			f, err = build(ctx)
		}
		if err != nil {
			b.absent[name] = err.Error()
		}
		b.foreign[name] = f
	}
	err := errNotAsked
	if b.plan.foreign {
		err = b.startEtcd(ctx)
	}
	if err != nil {
		b.absent[nameEtcd] = err.Error()
	}
	return ctx.Err()
}

var errNotAsked = errors.New("only in the full run")

func (b *bench) startEtcd(ctx context.Context) error {
	program, err := buildEtcd(ctx)
	if err != nil {
		return err
	}
	b.etcd, err = startServer(ctx, etcd(program))
	return err
}

// present leaves out who cannot be had.
func (b *bench) present(all []entrant) []entrant {
	return slices.DeleteFunc(slices.Clone(all), func(e entrant) bool { return b.absent[e.name] != "" })
}

// serverOf is the server that an entrant talks to.
func (b *bench) serverOf(e entrant) *server {
	if e.onEtcd {
		return b.etcd
	}
	return b.server
}

func (p page) absent(reasons map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		p.line("%s is not measured: %s.\n", name, reasons[name])
	}
}
