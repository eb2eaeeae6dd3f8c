package databases_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

var mariadb = dbProgram{
	name: "mariadb", driver: "mysql", account: "mysql",
	initialise: func(t *testing.T, s *dbServer) {
		s.run(t, mariadbProgram(t, "mariadb-install-db"), "--no-defaults", "--datadir="+filepath.Join(s.dir, "data"), "--skip-test-db",
			"--auth-root-authentication-method=socket")
		must(t, os.WriteFile(filepath.Join(s.dir, "first.sql"), []byte(fmt.Sprintf(
			"CREATE DATABASE IF NOT EXISTS tests;\nCREATE OR REPLACE USER tester@'127.0.0.1' IDENTIFIED BY '%s';\n"+
				"GRANT ALL ON *.* TO tester@'127.0.0.1';\n", s.password)), 0o644)) // the directory is closed to others
	},
	launch: func(t *testing.T, s *dbServer) []string {
		return []string{
			mariadbProgram(t, "mariadbd"), "--no-defaults", "--datadir=" + filepath.Join(s.dir, "data"),
			"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--socket=" + filepath.Join(s.dir, "socket"),
			"--pid-file=" + filepath.Join(s.dir, "pid"), "--init-file=" + filepath.Join(s.dir, "first.sql"),
			"--skip-name-resolve", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0",
		}
	},
	stop: syscall.SIGTERM,
	// The tests write names in double quotes, as the other databases do.
	url: func(s *dbServer) string {
		return fmt.Sprintf("tester:%s@tcp(127.0.0.1:%d)/tests?sql_mode=CONCAT(@@sql_mode,',ANSI_QUOTES')", s.password, s.port)
	},
}

// mariadbProgram finds a program of MariaDB, which Debian keeps out of the PATH of some users.
func mariadbProgram(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path := filepath.Join("/usr/sbin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal("install MariaDB (Debian: apt-get install mariadb-server-core)")
	}
	return path
}

// By default a connection counts the rows that an update has changed, with clientFoundRows those
// that it has found. With interpolateParams the driver writes the arguments into the statement.
func TestGuardsOfMariaDB(t *testing.T) {
	t.Parallel()
	url := mariadb.start(t)
	for what, options := range map[string]string{"rows changed": "", "rows found": "&clientFoundRows=true&interpolateParams=true"} {
		t.Run(what, func(t *testing.T) {
			db := database{DB: openDB(t, "mysql", url+options), style: fence.MySQL, witness: []string{
				`CREATE TRIGGER %[1]s_back BEFORE UPDATE ON %[1]s FOR EACH ROW
					IF NEW.fence < OLD.fence THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the fence goes back'; END IF`,
			}}
			guardsOf(t, db)
			t.Run("a stale update that waited for a newer one is refused", db.staleUpdateThatWaited)
			t.Run("a stale pass that waited for a newer one is refused", db.stalePassThatWaited)
			t.Run("a refusal tells of what was committed since the transaction began", db.refusalOfAnOldView)
			t.Run("a table in a schema", db.tableInASchema)
			t.Run("names of quotes and marks that MySQL reads in its own way", db.oddMarksOfMySQL)
			t.Run("resources that differ in case and at their end are two", db.exactResources)
		})
	}
}

// At its level REPEATABLE READ, a transaction of MySQL reads what was there when it began.
func (db database) refusalOfAnOldView(t *testing.T) {
	stock, ledger := db.stock(t), db.ledger(t)
	must(t, stock.Row(1).Update(t.Context(), db, 30, "n = n"))
	must(t, ledger.Pass(t.Context(), 30, "r"))
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	var n int64
	must(t, tx.QueryRow("SELECT n FROM "+stock.Name+" WHERE id = 1").Scan(&n))
	must(t, stock.Row(1).Update(t.Context(), db, 34, "n = n"))
	must(t, ledger.Pass(t.Context(), 34, "r"))
	fencetest.WantStale(t, stock.Row(1).Update(t.Context(), tx, 33, "n = 0"), 33, 34)
	fencetest.WantStale(t, ledger.PassIn(t.Context(), tx, 33, "r"), 33, 34)
}

// Row 2 and a token of 2 are there for a guard whose arguments are shifted.
func (db database) oddMarksOfMySQL(t *testing.T) {
	stock := db.stock(t)
	for set, args := range map[string][]any{
		"n = LENGTH('?')": {"5"}, "n = LENGTH(\"?\")": {"5"}, "n = ?1": {5}, "n = ? + ?": {5}, "n = 0 # none": nil,
		`n = LENGTH('\'?')`: {"5"}, "n = '?' + ?": {1}, "n = 0, `a": nil,
	} {
		if err := stock.Row(1).Update(t.Context(), db, 2, set, args...); err == nil {
			t.Errorf("%s of %v was accepted", set, args)
		}
	}
	must(t, stock.Row(1).Update(t.Context(), db, 2, "n = ? + LENGTH('it') + LENGTH(?)", 5, "a'?\"#\\"))
	for column, want := range map[string][2]int64{"n": {13, 10}, "fence": {2, 0}} {
		if got := [2]int64{db.read(t, stock, column, 1), db.read(t, stock, column, 2)}; got != want {
			t.Errorf("%s of the two rows is %v, want %v", column, got, want)
		}
	}
}

// A text of MySQL takes "a" for "A" and for "a ".
func (db database) exactResources(t *testing.T) {
	ledger := db.ledger(t)
	must(t, ledger.Pass(t.Context(), 9, "a"))
	for _, other := range []string{"A", "a ", "ä", "a\x00", string(make([]byte, 767))} {
		if err := ledger.Pass(t.Context(), 1, other); err != nil {
			t.Errorf("resource %q: %v", other, err)
		}
	}
	if err := ledger.Pass(t.Context(), 1, string(make([]byte, 768))); err == nil {
		t.Error("a resource was accepted that is longer than its column")
	}
}
