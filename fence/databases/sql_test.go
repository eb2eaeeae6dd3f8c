package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// database is one that the guards of SQL are tested on.
type database struct {
	*sql.DB
	style   fence.Style
	witness []string // what has a table %[1]s fail an update by which its fence goes back
}

func TestGuardsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	db := database{DB: openDB(t, "pgx", postgres.start(t)), style: fence.Dollar, witness: []string{
		`CREATE FUNCTION %[1]s_back() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF NEW.fence < OLD.fence THEN RAISE EXCEPTION 'the fence goes back'; END IF; RETURN NEW; END $$`,
		`CREATE TRIGGER %[1]s_back BEFORE UPDATE ON %[1]s FOR EACH ROW EXECUTE FUNCTION %[1]s_back()`,
	}}
	guardsOf(t, db)
	t.Run("a stale update that waited for a newer one is refused", db.staleUpdateThatWaited)
	t.Run("a stale pass that waited for a newer one is refused", db.stalePassThatWaited)
	t.Run("a table in a schema", db.tableInASchema)
}

func TestGuardsOfSQLite(t *testing.T) {
	t.Parallel()
	db := database{DB: openSQLite(t), style: fence.Question, witness: []string{
		`CREATE TRIGGER %[1]s_back BEFORE UPDATE ON %[1]s WHEN NEW.fence < OLD.fence
			BEGIN SELECT RAISE(ABORT, 'the fence goes back'); END`,
	}}
	guardsOf(t, db)
	t.Run("a misspelt key column matches nothing", db.misspeltKey)
	t.Run("numbered marks and marks in quotes shift nothing", db.oddMarks)
}

func guardsOf(t *testing.T, db database) {
	t.Run("a row refuses a stale holder", db.rowRefuses)
	t.Run("a row refuses without writing", db.rowRefusesWithoutWriting)
	t.Run("a row passes a token without writing", db.rowPasses)
	t.Run("a row never goes back", db.rowNeverGoesBack)
	t.Run("a row that is not there is not stale", db.rowMissing)
	t.Run("a row without a token yet", db.rowWithoutToken)
	t.Run("what is rolled back has not passed", db.rollback)
	t.Run("keys of several columns and odd names", db.oddNames)
	t.Run("a key that is not unique", db.ambiguousKey)
	t.Run("mistakes are told", db.mistakes)
	t.Run("nothing cuts off the guard", db.nothingCutsOff)
	t.Run("a version refuses who comes second", db.version)
	t.Run("a version that is not there yet counts as 0", db.rowWithoutVersion)
	t.Run("an error leaves the version as it was read", db.versionAfterError)
	t.Run("no increment by version is lost", db.versionsUnderLoad)
	t.Run("a version that was rolled back is made by others", db.versionRolledBack)
	t.Run("a ledger is a store", func(t *testing.T) { fencetest.Keeps(t, db.ledger(t)) })
	t.Run("a ledger with a token that is not there yet", db.ledgerWithoutToken)
	t.Run("a ledger orders transactions", db.ledgerOrdersTransactions)
}

// stock makes a table with the rows 1 and 2, n of each being 10.
func (db database) stock(t *testing.T) fence.Table {
	t.Helper()
	name := tableName(t)
	db.must(t, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, fence BIGINT, version BIGINT DEFAULT 0)")
	db.must(t, "INSERT INTO "+name+" (id, n, fence) VALUES (1, 10, 0), (2, 10, 0)")
	for _, statement := range db.witness {
		db.must(t, fmt.Sprintf(statement, name))
	}
	return fence.Table{Name: name, Style: db.style}
}

func (db database) ledger(t *testing.T) fence.Ledger {
	t.Helper()
	l := fence.Ledger{DB: db.DB, Table: tableName(t), Style: db.style}
	db.must(t, l.Schema())
	db.must(t, l.Schema()) // also where there is one
	return l
}

func (db database) rowRefuses(t *testing.T) {
	row := db.stock(t).Row(1)
	fencetest.Refuses(t, func(token int64) error { return row.Update(t.Context(), db, token, "n = n") })
}

func (db database) rowRefusesWithoutWriting(t *testing.T) {
	stock := db.stock(t)
	one, other := stock.Row(1), stock.Row(2)
	ctx := t.Context()
	must(t, other.Update(ctx, db, 35, "n = n"))
	must(t, one.Update(ctx, db, 34, db.marks("n = n - ?"), 3))
	fencetest.WantStale(t, one.Update(ctx, db, 33, "n = 0"), 33, 34)
	if err := one.Update(ctx, db, 0, "n = 0"); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("no token: %v", err)
	}
	if n, token := db.read(t, stock, "n", 1), db.read(t, stock, "fence", 1); n != 7 || token != 34 {
		t.Errorf("the row has n %d and fence %d, want 7 and 34", n, token)
	}
	if n, token := db.read(t, stock, "n", 2), db.read(t, stock, "fence", 2); n != 10 || token != 35 {
		t.Errorf("the other row has n %d and fence %d, want 10 and 35", n, token)
	}
}

func (db database) rowPasses(t *testing.T) {
	stock := db.stock(t)
	fencetest.Refuses(t, func(token int64) error { return stock.Row(1).Pass(t.Context(), db, token) })
	if n := db.read(t, stock, "n", 1); n != 10 {
		t.Errorf("n is %d, want 10", n)
	}
	if err := stock.Row(3).Pass(t.Context(), db, 1); !errors.Is(err, fence.ErrNoRow) {
		t.Errorf("a row that is not there: %v, want ErrNoRow", err)
	}
	if token := db.read(t, stock, "fence", 2); token != 0 {
		t.Errorf("the other row has the fence %d", token)
	}
}

// The database itself is the witness: a trigger fails whatever makes a fence go back.
func (db database) rowNeverGoesBack(t *testing.T) {
	stock := db.stock(t)
	if _, err := db.Exec("UPDATE " + stock.Name + " SET fence = -1"); err == nil {
		t.Fatal("the witness sees nothing")
	}
	passed, newest := fencetest.Crowd(t, 6, 40, func(token int64) error {
		return stock.Row(1).Update(t.Context(), db, token, "n = n + 1")
	})
	if got := db.read(t, stock, "fence", 1); got != newest {
		t.Errorf("the fence is %d, the newest that passed was %d", got, newest)
	}
	if got := db.read(t, stock, "n", 1); got != 10+passed {
		t.Errorf("%d writes took effect, %d passed", got-10, passed)
	}
}

func (db database) rowMissing(t *testing.T) {
	stock := db.stock(t)
	err := stock.Row(3).Update(t.Context(), db, 1, "n = 0")
	if !errors.Is(err, fence.ErrNoRow) || errors.Is(err, fence.ErrStale) {
		t.Errorf("update: %v, want ErrNoRow", err)
	}
	_, err = stock.Row(3).UpdateIf(t.Context(), db, 1, "n = 0")
	if !errors.Is(err, fence.ErrNoRow) || errors.Is(err, fence.ErrConflict) {
		t.Errorf("update by version: %v, want ErrNoRow", err)
	}
}

func (db database) rowWithoutToken(t *testing.T) {
	stock := db.stock(t)
	db.must(t, "UPDATE "+stock.Name+" SET fence = NULL")
	fencetest.Refuses(t, func(token int64) error { return stock.Row(1).Update(t.Context(), db, token, "n = n") })
}

func (db database) rollback(t *testing.T) {
	stock, ledger := db.stock(t), db.ledger(t)
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	must(t, ledger.PassIn(t.Context(), tx, 9, "r"))
	must(t, stock.Row(1).Update(t.Context(), tx, 9, "n = 0"))
	must(t, tx.Rollback())
	must(t, ledger.Pass(t.Context(), 1, "r"))
	must(t, stock.Row(1).Update(t.Context(), db, 1, "n = n"))
	if n := db.read(t, stock, "n", 1); n != 10 {
		t.Errorf("n is %d, want 10", n)
	}
}

func (db database) oddNames(t *testing.T) {
	name := `odd "` + tableName(t) + `" --`
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	db.must(t, `CREATE TABLE `+quoted+` ("or""der" VARCHAR(20), line BIGINT, "set" BIGINT, "To ken" BIGINT, "at?" BIGINT, PRIMARY KEY ("or""der", line))`)
	db.must(t, `INSERT INTO `+quoted+` VALUES ('x', 1, 0, 0, 0), ('x', 2, 0, 0, 0), ('it''s', 1, 0, 0, 0)`)
	table := fence.Table{Name: name, Key: []string{`or"der`, "line"}, Token: "To ken", Version: "at?", Style: db.style}
	must(t, table.Row("x", 2).Update(t.Context(), db, 5, db.marks(`"set" = "set" + ?, "or""der" = ?`), 7, "x"))
	fencetest.WantStale(t, table.Row("x", 2).Update(t.Context(), db, 4, `"set" = 0`), 4, 5)
	must(t, table.Row("x", 1).Update(t.Context(), db, 1, `"set" = 1`))
	_, err := table.Row("it's", 1).UpdateIf(t.Context(), db, 0, `"set" = 9`)
	must(t, err)
	var sum int
	must(t, db.QueryRow(`SELECT SUM("set") FROM `+quoted).Scan(&sum))
	if sum != 7+1+9 {
		t.Errorf("the rows add up to %d, want 17", sum)
	}
}

func (db database) ambiguousKey(t *testing.T) {
	stock := db.stock(t)
	stock.Key = []string{"n"}
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	if err := stock.Row(10).Update(t.Context(), tx, 1, "n = n"); err == nil || !strings.Contains(err.Error(), "2 rows") {
		t.Errorf("a key of two rows: %v", err)
	}
}

func (db database) mistakes(t *testing.T) {
	stock, ended := db.stock(t), context.Background()
	ended, cancel := context.WithCancel(ended)
	cancel()
	for what, err := range map[string]error{
		"no table":          fence.Table{}.Row(1).Update(t.Context(), db, 1, "n = n"),
		"no key":            stock.Row().Update(t.Context(), db, 1, "n = n"),
		"too long a key":    stock.Row(1, 2).Update(t.Context(), db, 1, "n = n"),
		"no such column":    stock.Row(1).Update(t.Context(), db, 1, "m = 1"),
		"a missing ledger":  fence.Ledger{DB: db.DB, Table: "nowhere", Style: db.style}.Pass(t.Context(), 1, "r"),
		"a context that is": stock.Row(1).Update(ended, db, 1, "n = 0"),
	} {
		if err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrNoRow) || errors.Is(err, fence.ErrNoToken) {
			t.Errorf("%s: %v, want an error of its own", what, err)
		}
	}
	if n := db.read(t, stock, "n", 1); n != 10 {
		t.Errorf("n is %d, want 10", n)
	}
}

// Whatever set holds by mistake, no row is written without the guard, and no other row.
func (db database) nothingCutsOff(t *testing.T) {
	stock := db.stock(t)
	for what, set := range map[string]string{
		"a comment": "n = 0 --", "a comment that stays open": "n = 0 /*", "a semicolon": "n = 0;",
		"a comment and a line": "n = 0 -- none\n", "a zero byte": "n = 0\x00", "a condition": "n = 0 WHERE 1 = 1",
		"nothing": "", "an open quote": "n = '0", "an open name": `"n`, "an open bracket": "n = (0",
	} {
		if err := stock.Row(1).Update(t.Context(), db, 7, set); err == nil {
			t.Errorf("%s: Update accepted %q", what, set)
		}
		if _, err := stock.Row(1).UpdateIf(t.Context(), db, 0, set); err == nil {
			t.Errorf("%s: UpdateIf accepted %q", what, set)
		}
	}
	// With its arguments shifted by one, the statement would look for row 1 with token 1.
	if err := stock.Row(2).Update(t.Context(), db, 1, "n = 0", 5); err == nil {
		t.Error("an argument without a mark was accepted")
	}
	if err := stock.Row(1).Update(t.Context(), db, 1, db.marks("n = ?, version = ?"), 5); err == nil {
		t.Error("a mark without an argument was accepted")
	}
	for id := range 2 {
		if n, token := db.read(t, stock, "n", 1+id), db.read(t, stock, "fence", 1+id); n != 10 || token != 0 {
			t.Errorf("row %d has n %d and fence %d, want 10 and 0", 1+id, n, token)
		}
	}
}

func (db database) misspeltKey(t *testing.T) {
	stock := db.stock(t)
	stock.Key = []string{"idd"}
	if err := stock.Row("idd").Update(t.Context(), db, 1, "n = 0"); err == nil {
		t.Error("a column that does not exist was compared")
	}
	if n := db.read(t, stock, "n", 1); n != 10 {
		t.Errorf("n is %d, want 10", n)
	}
}

// marks writes the arguments of a text in the style of the database.
func (db database) marks(text string) string {
	for n := 1; db.style == fence.Dollar && strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprint("$", n), 1)
	}
	return text
}

func (db database) must(t *testing.T, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (db database) read(t *testing.T, table fence.Table, column string, id int) (n int64) {
	t.Helper()
	must(t, db.QueryRow(fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", column, table.Name, id)).Scan(&n))
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openDB(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	must(t, db.Ping())
	return db
}

func openSQLite(t *testing.T) *sql.DB {
	t.Helper()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "test.db"))
	return openDB(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate")
}

// tableName is a name that needs no quotes and no other test uses.
func tableName(t *testing.T) string {
	name := strings.ToLower(strings.ReplaceAll(redistest.Name(t), "-", "_"))
	return "t" + name[len(name)-16:]
}
