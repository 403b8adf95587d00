// Posts two processor profiles of itself to /ingest, as plain bytes and as a form, and writes each to a file: ingested URL FOLDER.
package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func spin(forHow time.Duration) (sum int) {
	for until := time.Now().Add(forHow); time.Now().Before(until); {
		for at := 0; at < 1000; at++ {
			sum += at
		}
	}
	return sum
}

// Posts until there is an answer.
func post(to, kind string, body []byte) {
	for try := 0; try < 3; try++ {
		response, err := http.Post(to, kind, bytes.NewReader(body))
		if err != nil {
			continue
		}
		said, err := io.ReadAll(response.Body)
		check(err)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			panic(string(said))
		}
		return
	}
	panic("no answer")
}

func main() {
	for number := 0; number < 2; number++ {
		from := time.Now()
		var profile bytes.Buffer
		check(pprof.StartCPUProfile(&profile))
		spin(time.Second)
		pprof.StopCPUProfile()
		name := filepath.Join(os.Args[2], fmt.Sprintf("ingested-%d", number))
		check(os.WriteFile(name, profile.Bytes(), 0o600))
		query := url.Values{
			"name":    {"shop{region=north}"},
			"from":    {fmt.Sprint(from.Unix())},
			"until":   {fmt.Sprint(time.Now().Unix())},
			"spyName": {"gospy"},
		}
		to := os.Args[1] + "/ingest?" + query.Encode()
		if number == 0 {
			post(to+"&format=pprof", "application/octet-stream", profile.Bytes())
			continue
		}
		var form bytes.Buffer
		writer := multipart.NewWriter(&form)
		file, err := writer.CreateFormFile("profile", "profile.pprof")
		check(err)
		_, err = file.Write(profile.Bytes())
		check(err)
		check(writer.Close())
		post(to, writer.FormDataContentType(), form.Bytes())
	}
}
