package watchdog

import (
	"fmt"
	"slices"
	"testing"
)

func clients(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("client-%d", i)
	}
	return all
}

// server is who serves a client, of watchdogs that know of each other; every client must
// have exactly one.
func server(t *testing.T, alive []string, client string) string {
	t.Helper()
	var servers []string
	for _, id := range alive {
		if serves(id, alive, client) {
			servers = append(servers, id)
		}
	}
	if len(servers) != 1 {
		t.Fatalf("%s is served by %v, want one", client, servers)
	}
	return servers[0]
}

func TestThreeShareTheClientsEvenly(t *testing.T) {
	t.Parallel()
	alive := []string{"a", "b", "c"}
	share := map[string]int{}
	for _, client := range clients(3000) {
		share[server(t, alive, client)]++
	}
	for _, id := range alive {
		if n := share[id]; n < 900 || n > 1100 {
			t.Errorf("%s serves %d of 3000", id, n)
		}
	}
}

func TestOnlyTheClientsOfTheDeadChangeHands(t *testing.T) {
	t.Parallel()
	three, two := []string{"a", "b", "c"}, []string{"a", "c"}
	moved := map[string]int{}
	for _, client := range clients(1000) {
		before, after := server(t, three, client), server(t, two, client)
		if before != "b" && before != after {
			t.Fatalf("%s went from %s to %s though both live", client, before, after)
		}
		if before == "b" {
			moved[after]++
		}
	}
	if moved["a"] < 100 || moved["c"] < 100 {
		t.Errorf("the clients of the dead one went to %v", moved)
	}
}

func TestAWatchdogThatNobodyKnowsServesWhatItWouldServe(t *testing.T) {
	t.Parallel()
	if !serves("a", nil, "x") {
		t.Error("alone, it does not serve")
	}
	all := clients(300)
	mine := slices.DeleteFunc(slices.Clone(all), func(client string) bool { return !serves("d", []string{"a", "b", "c"}, client) })
	if n := len(mine); n < 40 || n > 110 {
		t.Errorf("beside three others it serves %d of 300", n)
	}
}
