// Package databases tests the guards of package fence on PostgreSQL, MariaDB and SQLite. It is a
// module of its own, so that nobody who imports redlatch gets their drivers into his module graph.
package databases
