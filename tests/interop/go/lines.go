// Commands in, reports out, both lines of JSON; the words are in tests/interop/kinds.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// settings are given as the program's argument.
type settings struct {
	Namesrv   string `json:"namesrv"`
	Endpoints string `json:"endpoints"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	TLS       bool   `json:"tls"`
}

// command has the fields of all words.
type command struct {
	Do           string            `json:"do"`
	Name         string            `json:"name"`
	Group        string            `json:"group"`
	Topic        string            `json:"topic"`
	Topics       []string          `json:"topics"`
	Check        string            `json:"check"`
	Trace        bool              `json:"trace"`
	Expression   string            `json:"expression"`
	SQL          bool              `json:"sql"`
	Orderly      bool              `json:"orderly"`
	Broadcast    bool              `json:"broadcast"`
	Reply        bool              `json:"reply"`
	Failing      string            `json:"failing"`
	Retries      *int32            `json:"retries"`
	Body         string            `json:"body"`
	Bodies       []string          `json:"bodies"`
	Tag          string            `json:"tag"`
	Keys         []string          `json:"keys"`
	Properties   map[string]string `json:"properties"`
	MessageGroup string            `json:"message_group"`
	DelayMs      int64             `json:"delay_ms"`
	DelayLevel   int               `json:"delay_level"`
	Transaction  string            `json:"transaction"`
	Handle       string            `json:"handle"`
	Count        int               `json:"count"`
	Most         int32             `json:"most"`
	InvisibleS   int               `json:"invisible_s"`
	Seconds      int               `json:"seconds"`
}

type values map[string]any

var writing sync.Mutex

func report(event string, more values) {
	line := values{"event": event}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(text))
}

// serve runs commands up to "stop", and ends the process.
func serve(words map[string]func(command) error) {
	report("ready", nil)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var next command
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			panic(err)
		}
		if err := words[next.Do](next); err != nil {
			report("failed", values{"reason": err.Error()})
		}
		if next.Do == "stop" {
			os.Exit(0)
		}
	}
}

func given() settings {
	var given settings
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		panic(err)
	}
	return given
}
