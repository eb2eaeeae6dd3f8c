package databases_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

var postgres = dbProgram{
	name: "postgres", driver: "pgx", account: "postgres",
	// The server asks for a password: other users of the machine reach the port, too.
	initialise: func(t *testing.T, s *dbServer) {
		secret := filepath.Join(s.dir, "password")
		must(t, os.WriteFile(secret, []byte(s.password), 0o644)) // the directory is closed to others
		s.run(t, filepath.Join(postgresPrograms(t), "initdb"), "--pgdata", filepath.Join(s.dir, "data"), "--no-sync",
			"--username", "tester", "--auth", "scram-sha-256", "--pwfile", secret, "--encoding", "UTF8", "--locale", "C")
	},
	launch: func(t *testing.T, s *dbServer) []string {
		return []string{
			filepath.Join(postgresPrograms(t), "postgres"), "-D", filepath.Join(s.dir, "data"), "-p", strconv.Itoa(s.port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
			"-c", "shared_buffers=16MB", "-c", "max_connections=40",
		}
	},
	stop: syscall.SIGINT, // with its sessions
	url: func(s *dbServer) string {
		return fmt.Sprintf("postgres://tester:%s@127.0.0.1:%d/postgres?sslmode=disable&connect_timeout=30", s.password, s.port)
	},
}

// postgresPrograms finds the programs, which Debian keeps out of the PATH.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		must(t, err)
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("install PostgreSQL (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(slices.Max(found))
}
