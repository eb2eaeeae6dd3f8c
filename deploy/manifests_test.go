package deploy_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/redlatch/redlatch/watchdog"
)

// manifest is one file of Kubernetes.
type manifest struct {
	deployment apps.Deployment
	budget     policy.PodDisruptionBudget
	service    core.Service
	secret     core.Secret
}

// parseManifest reads a file strictly, as the types of Kubernetes' own API: a field that is
// misspelt, of a wrong type or at a wrong place is an error.
func parseManifest(text string) (m manifest, err error) {
	return m, parseKinds(text, map[string]any{
		"apps/v1 Deployment": &m.deployment, "policy/v1 PodDisruptionBudget": &m.budget, "v1 Service": &m.service, "v1 Secret": &m.secret,
	})
}

// parseKinds parses a file that has one of each kind.
func parseKinds(text string, into map[string]any) error {
	for document := range strings.SplitSeq(text, "\n---\n") {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return err
		}
		name := kind.APIVersion + " " + kind.Kind
		target, is := into[name]
		if !is {
			return fmt.Errorf("%q is unknown, or stands there twice", name)
		}
		delete(into, name)
		if err := yaml.UnmarshalStrict([]byte(document), target, yaml.DisallowUnknownFields); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(into) > 0 {
		return fmt.Errorf("%d kinds are missing", len(into))
	}
	return nil
}

// readManifest reads a file of the folder.
func readManifest(t *testing.T, name string) (m manifest, text string) {
	t.Helper()
	all, err := os.ReadFile("kubernetes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = parseManifest(string(all)); err != nil {
		t.Fatal(err)
	}
	return m, string(all)
}

// problems are what the API server accepts, and what does not work.
func (m manifest) problems() (all []string) {
	wrong := func(is bool, format string, values ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	pod := m.deployment.Spec.Template
	set := labels.Set(pod.Labels)
	for what, selector := range map[string]*meta.LabelSelector{"deployment": m.deployment.Spec.Selector, "budget": m.budget.Spec.Selector} {
		s, err := meta.LabelSelectorAsSelector(selector)
		wrong(err != nil || s.Empty() || !s.Matches(set), "the %s selects %v, not the pods %v", what, s, set)
	}
	wrong(!labels.SelectorFromSet(m.service.Spec.Selector).Matches(set) || len(m.service.Spec.Selector) == 0, "the service does not select the pods")
	for _, named := range []meta.ObjectMeta{m.deployment.ObjectMeta, m.budget.ObjectMeta, m.service.ObjectMeta, m.secret.ObjectMeta} {
		wrong(len(validation.IsDNS1123Label(named.Name)) > 0, "%q is no name", named.Name)
	}
	replicas := int(*m.deployment.Spec.Replicas)
	if least := m.budget.Spec.MinAvailable; least != nil {
		wrong(least.IntValue() >= replicas, "the budget allows no eviction")
	}
	wrong(len(pod.Spec.Containers) != 1, "%d containers", len(pod.Spec.Containers))
	return append(all, m.containerProblems(pod.Spec)...)
}

// containerProblems are those of the container and what it refers to.
func (m manifest) containerProblems(pod core.PodSpec) (all []string) {
	wrong := func(is bool, format string, values ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	c := pod.Containers[0]
	port := func(named intstr.IntOrString) bool {
		return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == named.StrVal && named.StrVal != "" })
	}
	for _, p := range m.service.Spec.Ports {
		wrong(!port(p.TargetPort), "the service's port %s is none of the container's", p.TargetPort.StrVal)
	}
	for what, probe := range map[string]*core.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		wrong(probe == nil || probe.HTTPGet == nil || !port(probe.HTTPGet.Port), "the %s probe asks no port of the container", what)
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil {
			ref := e.ValueFrom.SecretKeyRef
			wrong(ref == nil || ref.Name != m.secret.Name || m.secret.StringData[ref.Key] == "", "%s is in no secret", e.Name)
		}
	}
	s, p := c.SecurityContext, pod.SecurityContext
	wrong(s == nil || p == nil || !*p.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
		!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault, "it has more rights than it needs")
	_, limited := c.Resources.Limits[core.ResourceCPU]
	wrong(limited, "a limit of CPU pauses it")
	wrong(c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero(), "it has no limit of memory, or asks for no CPU")
	wrong(!strings.Contains(c.Image, ":") || strings.HasSuffix(c.Image, ":latest"), "the image %s may change", c.Image)
	return all
}

func TestTheManifestsFitTogether(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"watchdog.yaml", "service.yaml"} {
		m, _ := readManifest(t, name)
		for _, problem := range m.problems() {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// Goal: three watchdogs on three nodes, of which a drain leaves two, and whose probes are served.
func TestTheManifestRunsThreeWatchdogs(t *testing.T) {
	t.Parallel()
	m, _ := readManifest(t, "watchdog.yaml")
	spec := m.deployment.Spec
	apart := spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *spec.Replicas != 3 || m.budget.Spec.MinAvailable.IntValue() != 2 || len(apart) != 1 || apart[0].TopologyKey != core.LabelHostname {
		t.Errorf("%d replicas, at least %v, apart by %v", *spec.Replicas, m.budget.Spec.MinAvailable, apart)
	}
	own, err := meta.LabelSelectorAsSelector(apart[0].LabelSelector)
	if err != nil || !own.Matches(labels.Set(spec.Template.Labels)) {
		t.Errorf("they keep apart from %v, not from each other", own)
	}
	handler := watchdog.Handler(func() watchdog.Stats { return watchdog.Stats{} })
	c := spec.Template.Spec.Containers[0]
	for _, path := range []string{c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, spec.Template.Annotations["prometheus.io/path"]} {
		out := httptest.NewRecorder()
		if handler.ServeHTTP(out, httptest.NewRequest("GET", path, nil)); out.Code == 404 {
			t.Errorf("the watchdog does not serve %s", path)
		}
	}
	if listen := fmt.Sprintf(":%d", c.Ports[0].ContainerPort); !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasSuffix(arg, listen) }) {
		t.Errorf("it listens elsewhere than at %s: %q", listen, c.Args)
	}
}

// Goal: a service keeps away from the watchdogs that serve it, and has time to release its locks.
func TestTheManifestOfAServiceLeavesTimeForItsLocks(t *testing.T) {
	t.Parallel()
	dog, _ := readManifest(t, "watchdog.yaml")
	m, _ := readManifest(t, "service.yaml")
	pod := m.deployment.Spec.Template.Spec
	away := slices.ContainsFunc(pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, func(w core.WeightedPodAffinityTerm) bool {
		s, err := meta.LabelSelectorAsSelector(w.PodAffinityTerm.LabelSelector)
		return err == nil && s.Matches(labels.Set(dog.deployment.Spec.Template.Labels))
	})
	if !away {
		t.Error("it does not keep away from the watchdogs")
	}
	if *pod.TerminationGracePeriodSeconds < 30 { // docs/shutdown.md: 15 s, and 10 s for Close
		t.Errorf("it is killed after %d s", *pod.TerminationGracePeriodSeconds)
	}
}

// Goal: a job is run once at a time, and has time to end before the kubelet kills it.
func TestTheManifestOfAJob(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	var job batch.CronJob
	if err := parseKinds(string(text), map[string]any{"batch/v1 CronJob": &job, "v1 Secret": &m.secret}); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	for _, problem := range m.containerProblems(pod) {
		if !strings.Contains(problem, " probe asks no port") { // a job serves nothing
			t.Error(problem)
		}
	}
	if job.Spec.ConcurrencyPolicy != batch.ForbidConcurrent || pod.RestartPolicy != core.RestartPolicyNever || *pod.TerminationGracePeriodSeconds < 30 {
		t.Errorf("%s, %s, killed after %d s", job.Spec.ConcurrencyPolicy, pod.RestartPolicy, *pod.TerminationGracePeriodSeconds)
	}
}

// Goal: systemd understands each unit. Method: it verifies copies whose programs exist.
func TestTheUnitsAreThoseOfSystemd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	units, dir := []string{"redlatch-watchdog.service", "redlatch-job.service", "redlatch-job.timer"}, t.TempDir()
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("ExecStart=/usr/local/bin/redlatch"), []byte("ExecStart=/bin/true"))
		if err := os.WriteFile(filepath.Join(dir, unit), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.CommandContext(t.Context(), "systemd-analyze", append([]string{"verify", "--man=no"}, units...)...)
	verify.Dir = dir
	if said, err := verify.CombinedOutput(); err != nil || bytes.Contains(said, []byte(dir)) || bytes.Contains(said, []byte("redlatch-")) {
		t.Errorf("%v\n%s", err, said)
	}
}

// Goal: the checks above see mistakes. Method: one mistake at a time in the watchdogs' file.
func TestChecksSeeWrongManifests(t *testing.T) {
	t.Parallel()
	_, text := readManifest(t, "watchdog.yaml")
	for old, wrong := range map[string]string{
		"replicas: 3":                         "replica: 3",
		"minAvailable: 2":                     "minAvailable: 3",
		"path: /healthz, port: http":          "path: /healthz, port: web",
		"topologyKey: kubernetes.io/hostname": "topologyKeys: kubernetes.io/hostname",
		"memory: 64Mi":                        "memory: 64 Mi",
		"limits: {memory: 64Mi}":              "limits: {memory: 64Mi, cpu: 100m}",
		"key: redis}":                         "key: url}",
		"port: 7801, targetPort: http":        "port: 7801, targetPort: web",
		"runAsNonRoot: true":                  "runAsNonRoot: false",
		"runAsUser: 65532":                    "runAsUser: nobody",
		"kind: PodDisruptionBudget":           "kind: PodDisruption",
		"drop: [ALL]":                         "drop: [NET_RAW]",
		"  selector: {app.kubernetes.io/name: redlatch-watchdog}": "  selector: {app.kubernetes.io/name: watchdog}",
		"name: redlatch-watchdog\n  labels:":                      "name: Redlatch\n  labels:",
	} {
		changed := strings.Replace(text, old, wrong, 1)
		if changed == text {
			t.Errorf("%s is not in the file", old)
		}
		if m, err := parseManifest(changed); err == nil && len(m.problems()) == 0 {
			t.Errorf("%s was not noticed", wrong)
		}
	}
}
