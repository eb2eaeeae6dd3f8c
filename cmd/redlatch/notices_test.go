package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The image has the licence of every module that the command links.
func TestTheNoticesNameEveryModuleThatIsLinked(t *testing.T) {
	t.Parallel()
	found(t, "../../deploy/Containerfile", `(?m)(scripts/notices \./cmd/redlatch >/licenses/third-party)$`)
	found(t, "../../deploy/Containerfile", `(?m)^(COPY --from=build /licenses /licenses)$`)

	text, errs, err := printNotices(t, "../..", "./cmd/redlatch")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	sections := strings.Split("\n"+text, "\n==> ")[1:]
	linked := linkedModules(t)
	if len(linked) < 7 {
		t.Fatalf("the command links no more than %q", linked)
	}
	for _, module := range append(linked, "go1.") {
		if !slices.ContainsFunc(sections, func(section string) bool {
			title, text, _ := strings.Cut(section, "\n")
			return strings.HasPrefix(title, module) && strings.Contains(title, "/LICENSE") && strings.Contains(text, "opyright")
		}) {
			t.Errorf("no licence of %s", module)
		}
	}
}

// Goal: an image is not built without a licence that it needs.
// Method: a program links a module that has none, and then gets one below the package.
func TestTheNoticesAreRefusedForAModuleWithoutALicence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/program\n\ngo 1.26\n\n"+
		"require example.org/bare v0.0.0\n\nreplace example.org/bare => ./bare\n")
	write("main.go", "package main\n\nimport _ \"example.org/bare/taken/inner\"\n\nfunc main() {}\n")
	write("bare/go.mod", "module example.org/bare\n\ngo 1.26\n")
	write("bare/taken/inner/inner.go", "package inner\n")
	write("bare/taken/LICENSE", "Copyright of the part\n")
	if _, errs, err := printNotices(t, dir, "."); err == nil || !strings.Contains(errs, "example.org/bare@v0.0.0 has no licence") {
		t.Errorf("a module without a licence: %v, %q", err, errs)
	}
	write("bare/COPYING", "Copyright of the whole\n")
	text, errs, err := printNotices(t, dir, ".")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	for _, part := range []string{
		"==> example.org/bare@v0.0.0/COPYING\n\nCopyright of the whole\n",
		"==> example.org/bare@v0.0.0/taken/LICENSE\n\nCopyright of the part\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the notices lack %q", part)
		}
	}
}

// printNotices runs the script of that name in a folder.
func printNotices(t *testing.T, dir, program string) (text, errs string, err error) {
	t.Helper()
	script, err := filepath.Abs("../../scripts/notices")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), script, program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// linkedModules returns the modules that the command is built from, but ours.
func linkedModules(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	return slices.Compact(modules)
}
