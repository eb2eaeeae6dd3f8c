package deploy_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// What an expression may name.

// parseText reads the text format of Prometheus.
func parseText(from io.Reader) (map[string]*dto.MetricFamily, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	return p.TextToMetricFamilies(from)
}

// check says what is wrong with an expression: its syntax, a name or a label that is not exported,
// a label that a vector no longer has, or a value that a label never has.
func (s series) check(expression string) (problems []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			problems = append(problems, s.checkSelector(n)...)
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				if !slices.Contains(s.labelsBelow(n.Expr), label) {
					problems = append(problems, fmt.Sprintf("%s is grouped by %s, which it does not have", n.Expr, label))
				}
			}
		}
		return nil
	})
	return problems
}

// checkSelector says what is wrong with one selector.
func (s series) checkSelector(n *parser.VectorSelector) (problems []string) {
	exported, is := s[n.Name]
	if !is {
		return []string{n.Name + " is not exported"}
	}
	for _, m := range n.LabelMatchers {
		values, has := exported[m.Name]
		switch {
		case m.Name == model.MetricNameLabel:
		case !has:
			problems = append(problems, fmt.Sprintf("%s has no label %s", n.Name, m.Name))
		case values != nil && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) && !slices.ContainsFunc(values, m.Matches),
			values != nil && m.Type == labels.MatchNotEqual && !slices.Contains(values, m.Value):
			problems = append(problems, fmt.Sprintf("%s: no series has %s", n.Name, m))
		}
	}
	return problems
}

// labelsBelow are the labels that the result of an expression has: those of an aggregation, or all
// of the selectors.
func (s series) labelsBelow(e parser.Expr) (all []string) {
	parser.Inspect(e, func(node parser.Node, path []parser.Node) error {
		for _, above := range path {
			if _, hidden := above.(*parser.AggregateExpr); hidden {
				return nil
			}
		}
		switch n := node.(type) {
		case *parser.AggregateExpr:
			all = append(all, n.Grouping...)
		case *parser.VectorSelector:
			for label := range s[n.Name] {
				all = append(all, label)
			}
		}
		return nil
	})
	return all
}

// selected are the names that an expression selects.
func selected(expression string) (names []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return nil
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if n, is := node.(*parser.VectorSelector); is {
			names = append(names, n.Name)
		}
		return nil
	})
	return names
}

// Goal: the checks above see what is wrong. Method: one expression with each mistake.
func TestChecksSeeWrongExpressions(t *testing.T) {
	t.Parallel()
	all := exported(t)
	for expression, want := range map[string]string{
		`sum by (kind) (rate(redlatch_losses_total{reason="gone"}[5m]))`: "",
		`sum(rate(redlatch_losses_total[5m])`:                            "parse error",
		`redlatch_loss_total`:                                            "not exported",
		`redlatch_wait_duration_seconds`:                                 "not exported",
		`redlatch_losses_total{cause="gone"}`:                            "no label cause",
		`redlatch_losses_total{reason="going"}`:                          "no series has",
		`redlatch_losses_total{reason!="going"}`:                         "no series has",
		`redlatch_losses_total{reason=~"go.*g"}`:                         "no series has",
		`sum by (outcome) (redlatch_holds)`:                              "grouped by outcome",
		`sum by (kind) (sum by (job) (redlatch_losses_total))`:           "grouped by kind",
	} {
		problems := strings.Join(all.check(expression), "; ")
		if (want == "") != (problems == "") || !strings.Contains(problems, want) {
			t.Errorf("%s: got %q, want %q", expression, problems, want)
		}
	}
}
