// Serves its own profiles, and writes each one that it was asked for to a file: pulled FOLDER. It ends with its input.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

var (
	held  [][]byte
	alive sync.Mutex
)

// Allocates objects of 4,096 bytes: every tenth stays.
func allocate() {
	for at := 0; at < 100; at++ {
		object := make([]byte, 4096)
		if at%10 == 0 {
			held = append(held, object)
		}
	}
}

func contend() {
	for {
		alive.Lock()
		time.Sleep(time.Millisecond)
		alive.Unlock()
	}
}

func spin() {
	for until := time.Now().Add(50 * time.Millisecond); time.Now().Before(until); {
	}
}

// A response that is kept too.
type kept struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (k *kept) Write(bytes []byte) (int, error) { return k.body.Write(bytes) }

func keep(folder, name string, handler http.Handler) http.HandlerFunc {
	asked := 0
	return func(w http.ResponseWriter, r *http.Request) {
		answer := &kept{ResponseWriter: w}
		handler.ServeHTTP(answer, r)
		path := filepath.Join(folder, fmt.Sprintf("%s-%d", name, asked))
		asked++
		if err := os.WriteFile(path, answer.body.Bytes(), 0o600); err != nil {
			panic(err)
		}
		w.Write(answer.body.Bytes())
	}
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	folder := os.Args[1]
	mux := http.NewServeMux()
	for _, name := range []string{"heap", "mutex", "block", "goroutine"} {
		mux.HandleFunc("/debug/pprof/"+name, keep(folder, name, pprof.Handler(name)))
	}
	mux.HandleFunc("/debug/pprof/profile", keep(folder, "cpu", http.HandlerFunc(pprof.Profile)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	go contend()
	go contend()
	go func() {
		for {
			allocate()
			spin()
			runtime.GC()
			time.Sleep(100 * time.Millisecond)
		}
	}()
	panic(http.Serve(listener, mux))
}
