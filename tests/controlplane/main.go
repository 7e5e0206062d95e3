// Command controlplane is etcd, kube-apiserver, kube-scheduler or kube-controller-manager,
// whichever its first argument names: one binary, so that one build serves every test.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"etcd":                    etcd,
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": manager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]")
		os.Exit(2)
	}
	if os.Getenv("EXIT_WITH_STDIN") != "" {
		go exitWithStdin()
	}
	command := parts[os.Args[1]]()
	os.Args = os.Args[1:]
	os.Exit(cli.Run(command))
}

// etcd reads its own flags from os.Args.
func etcd() *cobra.Command {
	return &cobra.Command{
		Use:                "etcd",
		DisableFlagParsing: true,
		Run:                func(*cobra.Command, []string) { etcdmain.Main(os.Args) },
	}
}

// exitWithStdin ends the process when whoever started it is gone, killed or not.
func exitWithStdin() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
