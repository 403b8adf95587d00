// Prints what the parser of CDT's backend reads of a recorded conversation, a line for each thing: go build within a checkout of
// github.com/Netcracker/qubership-profiler-backend, and name the program by TRACELOOM_CDT_PARSER (docs/emit.md).
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/Netcracker/qubership-profiler-backend/libs/parser"
	"github.com/Netcracker/qubership-profiler-backend/libs/parser/streams"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	conversation, err := parser.ParsePodTcpDump(ctx, parser.TcpFile{FileName: os.Args[1], FilePath: os.Args[1]})
	check(err)
	pod := parser.ParsedPodDump{LoadedTcpData: conversation}
	fmt.Printf("pod %s %s %s\n", pod.Namespace, pod.Microservice, pod.PodName)

	dictionary, _, err := streams.ReadDictionary(ctx, pod.ByType("dictionary"))
	check(err)
	word := func(id int) string { return dictionary.List[id].Word }
	params, _, err := streams.ReadParams(ctx, pod.ByType("params"))
	check(err)
	for _, param := range params.List {
		fmt.Printf("param %s %v %v %q\n", param.Name, param.IsIndex, param.IsList, param.Signature)
	}
	pauses, _, err := streams.ReadSuspend(ctx, pod.ByType("suspend"))
	check(err)
	for _, pause := range pauses.List {
		fmt.Printf("pause %d %d\n", pause.Delta, pause.Amount)
	}
	calls, _, err := streams.ReadCalls(ctx, pod.ByType("calls"))
	check(err)
	for _, read := range calls.List {
		call := read.Call
		fmt.Printf("call %d %d %d %s %s", read.Time.UnixMilli(), call.Duration, call.Calls, call.ThreadName, word(call.Method))
		for id, values := range call.Params {
			fmt.Printf(" %s=%v", word(id), values)
		}
		fmt.Println()
	}
	_, trace, err := streams.ReadTraces(ctx, pod.ByType("trace"), dictionary)
	check(err)
	fmt.Print(trace)
	fmt.Printf("sql %d\n", pod.ByType("sql").Size())
}
