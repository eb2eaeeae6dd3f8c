package doctor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/doctor"
)

// Goal: what cannot be run here is recognised by what it says of itself.
func TestServersOfEachKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info     string
		code     string
		severity doctor.Severity
		words    string
	}{
		{"redis_version:5.0.7", "version", doctor.Danger, "Redis 5.0.7"},
		{"redis_version:6.0.16", "version", doctor.Danger, "upgrade"},
		{"redis_version:6.2.14", "version", doctor.Warning, "upgrade"},
		{"redis_version:7.0.15", "version", doctor.OK, "Redis 7.0.15"},
		{"redis_version:8.2", "version", doctor.OK, ""},
		{"redis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.1.0", "version", doctor.OK, "Valkey 8.1.0"},
		{"redis_version:7.4.0\ndragonfly_version:df-v1.30.0", "version", doctor.Note, "Dragonfly 1.30.0"},
		{"redis_version:7.4.0\ndragonfly_version:df-v1.30.0", "atomic-scripts", doctor.Note, "RWMutex"},
		{"redis_version:7.4.3\ngarnet_version:1.0.60", "version", doctor.Note, "Garnet"},
		{"redis_version:7.4.3\ngarnet_version:1.0.60", "atomic-scripts", doctor.Danger, "LuaTransactionMode"},
		{"redis_version:6.3.4\nmvcc_depth:0", "version", doctor.Note, "KeyDB 6.3.4"},
		{"redis_version:6.3.4\nexecutable:/usr/bin/keydb-server\nrole:active-replica", "role", doctor.Danger, "active replica"},
		{"redis_version:4.0.0\nkvrocks_version:2.9.0", "version", doctor.Note, "Kvrocks 2.9.0"},
		{"redis_version:7.0.0", "atomic-scripts", doctor.OK, ""},
		{"", "version", doctor.Unknown, "its version"},
		{"", "role", doctor.Unknown, ""},
		{"", "eviction", doctor.Unknown, "ask its provider"},
		{"", "memory", doctor.Unknown, ""},
		{"", "persistence", doctor.Unknown, ""},
		{"", "replicas", doctor.Unknown, ""},
		{"", "maxclients", doctor.Unknown, ""},
		{"", "watchdogs", doctor.Unknown, ""},
		{"", "clock", doctor.Unknown, ""},
		{"aof_enabled:0", "persistence", doctor.Warning, "at least"},
		{"aof_enabled:1", "persistence", doctor.Unknown, "appendfsync"},
		{"aof_enabled:1\naof_last_write_status:err", "persistence", doctor.Danger, "MISCONF"},
		{"aof_enabled:1\naof_last_write_status:ok\naof_last_bgrewrite_status:err", "persistence", doctor.Warning, "rewrite"},
		{"aof_enabled:0\naof_last_write_status:err", "persistence", doctor.Warning, "at least"},
		{"maxmemory_policy:noeviction\nmaxmemory:0\nevicted_keys:7", "eviction", doctor.OK, "evicted 7 keys"},
		{"maxclients:100\nconnected_clients:5\nrejected_connections:3", "maxclients", doctor.Note, "refused 3"},
		{"role:master\nconnected_slaves:1\nslave0:ip=10.0.0.1,port=6379,state=wait_bgsave,offset=0,lag=0", "replica-lag", doctor.Warning, "10.0.0.1:6379 is wait_bgsave"},
		{"role:master\nconnected_slaves:1\nslave0:ip=10.0.0.1,port=6379,state=online,offset=0,lag=5", "replica-lag", doctor.Warning, "heard of 5 s ago"},
		{"role:master\nconnected_slaves:1\nslave0:ip=10.0.0.1,port=6379,state=online,offset=0,lag=4", "replica-lag", doctor.OK, ""},
		{"role:master\nconnected_slaves:0\nrepl_backlog_active:1", "replicas", doctor.Warning, "no replica any more"},
		{"role:master\nconnected_slaves:0\nrepl_backlog_active:0", "replicas", doctor.OK, "no replica"},
		{"cluster_enabled:1", "cluster-slots", doctor.Unknown, ""},
		{"cluster_enabled:1", "cluster-replicas", doctor.Unknown, ""},
		{"cluster_enabled:1", "cluster-coverage", doctor.Unknown, ""},
	} {
		checks := told(strings.Split(c.info, "\n")...).examine(t, doctor.Config{})
		want(t, checks, c.code, c.severity, c.words)
		for _, one := range checks {
			if (one.Mend == "") != (one.Severity == doctor.OK) || one.Seen == "" || one.Why == "" || !strings.HasSuffix(one.Page, "#"+one.Code) {
				t.Errorf("%q: an incomplete check: %+v", c.info, one)
			}
		}
	}
}

func TestModulesAreNamed(t *testing.T) {
	t.Parallel()
	f := told("redis_version:7.0.15")
	f.answers["MODULE"] = list(list(driver.Reply{Str: "name"}, driver.Reply{Str: "search"}, driver.Reply{Str: "ver"}, text(1)))
	want(t, f.examine(t, doctor.Config{}), "modules", doctor.Note, "search")
}

func TestClocks(t *testing.T) {
	t.Parallel()
	right, wrong := told(), told()
	right.apart, wrong.apart = new(time.Duration), new(time.Duration)
	*wrong.apart = time.Minute
	want(t, right.examine(t, doctor.Config{}), "clock", doctor.OK, "")
	want(t, wrong.examine(t, doctor.Config{}), "clock", doctor.Note, "ahead")
	*wrong.apart = -time.Minute
	want(t, wrong.examine(t, doctor.Config{}), "clock", doctor.Note, "behind")
	both := func() []doctor.Check {
		return doctor.Examine(t.Context(), doctor.Config{}, doctor.Target{Name: "one", Driver: right}, doctor.Target{Name: "two", Driver: wrong})
	}
	want(t, both(), "server-clocks", doctor.Warning, "of one is")
	*wrong.apart = 0
	want(t, both(), "server-clocks", doctor.OK, "")
}

// A slow network is no wrong clock: by half of a round trip nobody knows better.
func TestAClockIsNotBlamedForTheNetwork(t *testing.T) {
	t.Parallel()
	f := told()
	f.takes, f.apart = 20*time.Millisecond, new(time.Duration)
	*f.apart = 995 * time.Millisecond // to which half of the round trip is added
	want(t, f.examine(t, doctor.Config{}), "clock", doctor.OK, "±")
}

func TestServersThatAreNotExamined(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection refused")
	if c := doctor.Unreachable("a", broken); c.Severity != doctor.Danger || c.Code != "reachable" || !strings.Contains(c.Seen, "refused") {
		t.Errorf("%+v", c)
	}
	if c := doctor.NotAtomic("a", broken); c.Severity != doctor.Danger || c.Code != "atomic-scripts" {
		t.Errorf("%+v", c)
	}
	f := told("redis_version:7.0.15")
	f.answers["SLOWLOG"] = driver.Reply{Err: broken}
	want(t, f.examine(t, doctor.Config{}), "reachable", doctor.Danger, "refused")
}

// Goal: a server that answers is not said to be gone, and the advice fits what it says.
func TestServersThatAnswerAndRefuse(t *testing.T) {
	t.Parallel()
	for said, words := range map[string]string{
		"BUSY Redis is busy running a script.":                             "SCRIPT KILL",
		"LOADING Redis is loading the dataset in memory":                   "wait until it has loaded",
		"WRONGPASS invalid username-password pair or user is disabled.":    "password",
		"NOAUTH Authentication required.":                                  "password",
		"ERR AUTH <password> called without any password configured for …": "URL",
		"ERR DB index is out of range":                                     "URL",
		"MASTERDOWN Link with MASTER is down":                              "primary",
	} {
		c := doctor.Unreachable("a", fmt.Errorf("open: %w", &driver.ServerError{Message: said}))
		if c.Severity != doctor.Danger || c.Code != "reachable" || strings.Contains(c.Seen, "does not answer") || !strings.Contains(c.Mend, words) {
			t.Errorf("%s: %+v", said, c)
		}
	}
	for _, said := range []string{"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script."} {
		f := told("redis_version:7.0.15")
		f.answers["PING"] = driver.Reply{Err: &driver.ServerError{Message: said}}
		want(t, f.examine(t, doctor.Config{}), "reachable", doctor.Danger, said)
	}
}

// Goal: redis-cli --cluster fix does not mend masters that have failed, and is not said to.
func TestMastersThatHaveFailed(t *testing.T) {
	t.Parallel()
	for info, words := range map[string]string{
		"cluster_state:fail\ncluster_slots_assigned:16384\ncluster_slots_ok:10923": "CLUSTER FAILOVER TAKEOVER",
		"cluster_state:ok\ncluster_slots_assigned:10923\ncluster_slots_ok:10923":   "--cluster fix",
	} {
		f := told("cluster_enabled:1")
		f.answers["CLUSTER INFO"] = driver.Reply{Str: info}
		want(t, f.examine(t, doctor.Config{}), "cluster-slots", doctor.Danger, words)
	}
}

// Goal: a sentinel that answers and does not know the primary is not said to be gone.
func TestASentinelThatRefuses(t *testing.T) {
	t.Parallel()
	f := told()
	f.answers["SENTINEL"] = driver.Reply{Err: &driver.ServerError{Message: "ERR No such master with that name"}}
	checks := doctor.Examine(t.Context(), doctor.Config{}, doctor.Target{Name: "x", Driver: told(), Master: "main", Sentinels: []doctor.Sentinel{{Address: "a", Driver: f}}})
	want(t, checks, "sentinels", doctor.Warning, "refuses: ERR No such master with that name | SENTINEL MONITOR main")
}
