// Go's remoting client.
package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const timeout = 20 * time.Second

type program struct {
	settings
	producer     rocketmq.Producer
	transactions rocketmq.TransactionProducer
	closing      []func() error
	clients      int
}

func main() {
	rlog.SetLogLevel("warn")
	p := &program{settings: given()}
	serve(map[string]func(command) error{
		"producer": p.startProducer, "push": p.push, "pull": p.pull, "send": p.send, "request": p.request, "stop": p.stop,
	})
}

func (p *program) resolver() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{p.Namesrv})
}

func (p *program) credentials() primitive.Credentials {
	return primitive.Credentials{AccessKey: p.AccessKey, SecretKey: p.SecretKey}
}

// instance names a client, so that each has connections of its own.
func (p *program) instance() string {
	p.clients++
	return fmt.Sprintf("%d-%d", time.Now().UnixNano(), p.clients)
}

func (p *program) traces(group string) *primitive.TraceConfig {
	return &primitive.TraceConfig{Access: primitive.Local, Resolver: p.resolver(), GroupName: group}
}

func (p *program) startProducer(c command) (err error) {
	options := []producer.Option{
		producer.WithNsResolver(p.resolver()),
		producer.WithGroupName(c.Group),
		producer.WithInstanceName(p.instance()),
		producer.WithSendMsgTimeout(timeout),
		producer.WithQueueSelector(producer.NewHashQueueSelector()),
	}
	if p.AccessKey != "" {
		options = append(options, producer.WithCredentials(p.credentials()))
	}
	if c.Trace {
		options = append(options, producer.WithTrace(p.traces(c.Group)))
	}
	if c.Check != "" {
		if p.transactions, err = rocketmq.NewTransactionProducer(decisions{checked: c.Check}, options...); err != nil {
			return err
		}
		p.closing = append(p.closing, p.transactions.Shutdown)
		err = p.transactions.Start()
	} else {
		if p.producer, err = rocketmq.NewProducer(options...); err != nil {
			return err
		}
		p.closing = append(p.closing, p.producer.Shutdown)
		err = p.producer.Start()
	}
	if err == nil {
		report("ready", nil)
	}
	return err
}

func (p *program) consumerOptions(c command) []consumer.Option {
	options := []consumer.Option{
		consumer.WithNsResolver(p.resolver()),
		consumer.WithGroupName(c.Group),
		consumer.WithInstance(p.instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}
	if p.AccessKey != "" {
		options = append(options, consumer.WithCredentials(p.credentials()))
	}
	return options
}

func selector(c command) consumer.MessageSelector {
	chosen := consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}
	if c.Expression != "" {
		chosen.Expression = c.Expression
	}
	if c.SQL {
		chosen.Type = consumer.SQL92
	}
	return chosen
}

func (p *program) push(c command) error {
	options := append(p.consumerOptions(c), consumer.WithConsumerOrder(c.Orderly))
	if c.Broadcast {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	if c.Retries != nil {
		options = append(options, consumer.WithMaxReconsumeTimes(*c.Retries))
	}
	if c.Trace {
		options = append(options, consumer.WithTrace(p.traces(c.Group)))
	}
	pusher, err := rocketmq.NewPushConsumer(options...)
	if err != nil {
		return err
	}
	consume := func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		result := consumer.ConsumeSuccess
		for _, message := range messages {
			reportMessage(c.Name, message)
			if c.Reply {
				if err := p.reply(ctx, message); err != nil {
					report("unanswered", values{"reason": err.Error()})
				}
			}
			if c.Failing != "" && string(message.Body) == c.Failing {
				result = consumer.ConsumeRetryLater
			}
		}
		return result, nil
	}
	if err := pusher.Subscribe(c.Topic, selector(c), consume); err != nil {
		return err
	}
	p.closing = append(p.closing, pusher.Shutdown)
	if err := pusher.Start(); err != nil {
		return err
	}
	report("ready", nil)
	return nil
}

func reportMessage(name string, message *primitive.MessageExt) {
	report("message", values{
		"name":       name,
		"topic":      message.Topic,
		"body":       string(message.Body),
		"tag":        message.GetTags(),
		"keys":       strings.Fields(message.GetKeys()),
		"properties": message.GetProperties(),
		"message_id": message.MsgId,
		"attempt":    message.ReconsumeTimes + 1,
	})
}

// reply answers a request. CreateReplyMessage takes the body for properties and drops it, so it is put in by hand. The
// broker knows an asker by its heartbeat, which this client sends up to half a minute after its first request.
func (p *program) reply(ctx context.Context, request *primitive.MessageExt) error {
	answer, err := consumer.CreateReplyMessage(request, nil)
	if err != nil {
		return err
	}
	answer.Body = []byte("re: " + string(request.Body))
	for end := time.Now().Add(2 * timeout); ; time.Sleep(timeout / 100) {
		if _, err = p.producer.SendSync(ctx, answer); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// pull subscribes and polls until it has so many messages.
func (p *program) pull(c command) error {
	puller, err := rocketmq.NewPullConsumer(p.consumerOptions(c)...)
	if err != nil {
		return err
	}
	if err := puller.Subscribe(c.Topic, selector(c)); err != nil {
		return err
	}
	p.closing = append(p.closing, puller.Shutdown)
	if err := puller.Start(); err != nil {
		return err
	}
	bodies := []string{}
	for end := time.Now().Add(2 * timeout); len(bodies) < c.Count && time.Now().Before(end); {
		polled, err := puller.Poll(context.Background(), time.Second)
		if err == consumer.ErrNoNewMsg {
			continue
		}
		if err != nil {
			return err
		}
		for _, message := range polled.GetMsgList() {
			bodies = append(bodies, string(message.Body))
		}
		puller.ACK(context.Background(), polled, consumer.ConsumeSuccess)
	}
	report("pulled", values{"bodies": bodies})
	return nil
}

func built(c command, body string) *primitive.Message {
	message := primitive.NewMessage(c.Topic, []byte(body))
	message.WithTag(c.Tag)
	if c.Keys != nil {
		message.WithKeys(c.Keys)
	}
	for name, value := range c.Properties {
		message.WithProperty(name, value)
	}
	if c.MessageGroup != "" {
		message.WithShardingKey(c.MessageGroup)
	}
	if c.DelayLevel != 0 {
		message.WithDelayTimeLevel(c.DelayLevel)
	}
	if c.DelayMs != 0 {
		// This client has no call for it; the property is all that a broker looks at.
		message.WithProperty("TIMER_DELAY_MS", strconv.FormatInt(c.DelayMs, 10))
	}
	if c.Transaction != "" {
		message.WithProperty("how", c.Transaction)
	}
	return message
}

func (p *program) send(c command) error {
	if c.Transaction != "" {
		result, err := p.transactions.SendMessageInTransaction(context.Background(), built(c, c.Body))
		if err != nil {
			return err
		}
		report("sent", values{"message_id": result.MsgID, "status": result.Status})
		return nil
	}
	batch := []*primitive.Message{}
	for _, body := range c.Bodies {
		batch = append(batch, built(c, body))
	}
	if len(batch) == 0 {
		batch = append(batch, built(c, c.Body))
	}
	result, err := p.producer.SendSync(context.Background(), batch...)
	if err != nil {
		return err
	}
	report("sent", values{"message_id": result.MsgID, "status": result.Status})
	return nil
}

func (p *program) request(c command) error {
	answer, err := p.producer.Request(context.Background(), 2*timeout, built(c, c.Body))
	if err != nil {
		return err
	}
	report("replied", values{"body": string(answer.Body)})
	return nil
}

func (p *program) stop(command) error {
	for _, shut := range p.closing {
		if err := shut(); err != nil {
			return err
		}
	}
	report("stopped", nil)
	return nil
}

// decisions say what becomes of half messages: as the command said, and when the broker checks, as the producer was given.
type decisions struct{ checked string }

func state(word string) primitive.LocalTransactionState {
	switch strings.ToLower(word) {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

func (d decisions) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	return state(message.GetProperty("how"))
}

func (d decisions) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	report("checked", values{"body": string(message.Body)})
	// A broker may ask before it was told: the answer is what it is told.
	if string(message.Body) == "rollback" {
		return primitive.RollbackMessageState
	}
	return state(d.checked)
}
