package main

import "github.com/spf13/cobra"

// errorsHelp is for somebody who has an exit code or a message, and wants to know what to do.
const errorsHelp = `What happened, and what to do. The exit code says who failed: the command, the
lock or redlatch. The line on stderr that begins with "redlatch:" says why.

EXIT CODES
  0     No error.
  1     Others hold the lock or all permits, and the wait is over. unlock: it
        is still held. audit and verify: there are findings. doctor: something
        is dangerous. deadlocks: there is a cycle.
        See who holds it:      redlatch status NAME, for permits show NAME
        Wait longer:           redlatch run -w 10m NAME -- COMMAND
        If the command exits with 1, too, choose another code: -E CODE
  2     The command line, a REDLATCH_ variable or a file that it names is wrong.
        Nothing was done. See redlatch help VERB.
  70    redlatch failed. The command was not started, unless the message says
        otherwise. See MESSAGES.
        See whether the server answers:  redlatch status NAME
  75    The hold was lost while the command ran. The command was stopped, so its
        work may be incomplete. Another process may hold the lock now. Check the
        work, then run the command again. See CAUSES OF EXIT CODE 75.
  126   The command cannot be run. Check its permissions and its first line.
  127   There is no such command. Check the spelling and PATH.
  128+n Signal n ended the command, or redlatch while it waited. 130 is Ctrl-C.
        143 is SIGTERM. 137 is SIGKILL, often because memory ran out.
  Any other exit code is the command's.

CAUSES OF EXIT CODE 75
  its lease of … was over
        The job needs more time. Set a longer --lease, or none.
  --max-hold … was over
        Find out why the job took so long, or set a longer --max-hold.
  redlatch stood still for …
        The machine was paused or had no CPU time, or somebody stopped redlatch.
        Set a longer --lease-time, or use --protect and a watchdog.
  Redis did not confirm the hold in time
        Redis hung or could not be reached. Set a longer --lease-time.
  somebody freed it
        Somebody used unlock --force, or another client deleted the key.
  the server was restarted, and has lost its data
        Set up persistence and replicas. See docs/operations.md.
  it was forced, or Redis lost it
        One of the two above, or a failover to a replica without the lock.
  processes … could not be killed
        They work on. Stop them: the lock stays only until its lease ends.

MESSAGES
  hold recalled by …
        Somebody asked for the lock with redlatch unlock. The command got
        SIGTERM, and may take its time: the lock stays held until it has ended.
  no server is named by REDLATCH_REDIS or --redis
        redlatch uses the server of this machine. Machines that use different
        servers do not share the lock. Set REDLATCH_REDIS, also in a crontab.
  connection refused, no such host, i/o timeout, no such file (of unix://)
        The server is down, or the URL is wrong. Wait for it with run -w 60s.
  the server hung up before its first reply
        The server may expect TLS. Use a URL that begins with rediss.
  certificate signed by unknown authority
        Name the file of your certificate authority: --tls-ca FILE.
  certificate has expired, is valid for, is not valid for, doesn't contain
        Renew the server's certificate, or use a host name that it contains.
  certificate required, bad certificate, connection reset by peer
        The server may require a client certificate: --tls-cert and --tls-key.
  NOAUTH, WRONGPASS
        The password is missing or wrong. Use --password-file FILE. Inside a
        redlatch run the URL has no password. Give that flag to the inner
        redlatch, too.
  ERR AUTH
        The server has no password. Remove it from the URL.
  NOPERM
        The Redis user lacks the right that the message names. See docs/acl.md.
  READONLY
        The server is a replica. Name the primary, or use redis+sentinel://.
  MOVED, CROSSSLOT
        The server is part of a Cluster. Use redis+cluster://.
  OOM
        Redis has no memory left. The lock was not taken.
  the key is not a lock of this kind
        The name is in use for other data, for a read-write lock (--shared or
        --exclusive), or for a fair lock (--fair). If it is a semaphore or a
        latch, see redlatch show NAME.
  its time is over, or another has attached or released it
        The ticket is no lock any more. Acquire the lock again, with a longer
        --lease, or extend it in time: redlatch extend.
  under which this command runs
        The command asks for the lock that it runs under. Use --reentrant.
  it may be taken until its lease ends
        The server did not answer, so the lock or permit may be taken. Wait
        until the lease ends, or check with redlatch show NAME.
  the key has no expiry, so it may be no lock
        It may be other data, or another client's lock without a lease. If you
        are sure it is a lock: redlatch unlock --force --if-owner OWNER NAME

A LOCK THAT STAYS
  1. See who holds it:    redlatch status NAME
     Do so several times. While the holder lives, its renewals raise the time
     to live. If that time only falls, wait until it is over.
  2. Ask for it:          redlatch unlock NAME
     The holder gives it back when its work allows it.
  3. Take it away:        redlatch unlock --force --if-owner OWNER NAME
     A holder that lives works on until its next renewal. If the holder is
     redlatch run, it then stops its command.`

// newErrors returns the topic: a command that does nothing but explain.
func newErrors() *cobra.Command {
	return &cobra.Command{Use: "errors", Short: "Exit codes and messages, and what to do about them", Long: errorsHelp}
}
