package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// newMan returns the verb that prints the manual page. make man writes it to deploy/redlatch.1.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "Print the manual page, as redlatch.1",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeMan(cmd.OutOrStdout(), cmd.Root())
		},
	}
}

// writeMan writes the manual page: what the help says of every verb, in one page.
func writeMan(out io.Writer, root *cobra.Command) error {
	var page strings.Builder
	page.WriteString(".TH REDLATCH 1\n.SH NAME\nredlatch \\- " + roff(strings.ToLower(root.Short[:1])+root.Short[1:]) + "\n.SH SYNOPSIS\n.nf\n")
	verbs := documented(root)
	for _, verb := range verbs {
		fmt.Fprintf(&page, "\\fBredlatch\\fR %s\n", roff(verb.Use))
	}
	page.WriteString(".fi\n.SH DESCRIPTION\n" + asWritten(root.Long))
	for _, verb := range verbs {
		fmt.Fprintf(&page, ".SH REDLATCH %s\n%s", strings.ToUpper(verb.Name()), asWritten(verb.Long))
		page.WriteString(asWritten(verb.LocalFlags().FlagUsagesWrapped(72)))
		if verb.Example != "" {
			page.WriteString(".PP\nExamples:\n" + asWritten(verb.Example))
		}
	}
	page.WriteString(".SH ERRORS\n" + asWritten(errorsHelp) + ".SH SEE ALSO\nflock(1)\n")
	_, err := io.WriteString(out, page.String())
	return err
}

// documented are the verbs that the help lists, without what cobra adds when a program starts.
func documented(root *cobra.Command) (verbs []*cobra.Command) {
	for _, verb := range root.Commands() {
		if verb.Runnable() && !verb.Hidden && verb.Name() != "help" && verb.Name() != "completion" {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// asWritten is a text in roff. A paragraph that has indented lines keeps its lines.
func asWritten(text string) string {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") {
			fmt.Fprintf(&out, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
		} else {
			fmt.Fprintf(&out, ".PP\n%s\n", roff(paragraph))
		}
	}
	return out.String()
}

// roff is text in which roff sees no request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
