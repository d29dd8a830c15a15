// Go's gRPC client.
package main

import (
	"context"
	"strings"
	"time"

	client "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const await = 5 * time.Second

type program struct {
	settings
	producer  client.Producer
	consumers map[string]client.SimpleConsumer
	held      map[string][]*client.MessageView
	closing   []func() error
}

func main() {
	p := &program{
		settings:  given(),
		consumers: map[string]client.SimpleConsumer{},
		held:      map[string][]*client.MessageView{},
	}
	client.EnableSsl = p.TLS
	serve(map[string]func(command) error{
		"producer": p.startProducer, "push": p.push, "simple": p.simple, "receive": p.receive, "ack": p.ack,
		"invisible": p.invisible, "send": p.send, "stop": p.stop,
	})
}

func (p *program) config(group string) *client.Config {
	return &client.Config{
		Endpoint:      p.Endpoints,
		ConsumerGroup: group,
		Credentials:   &credentials.SessionCredentials{AccessKey: p.AccessKey, AccessSecret: p.SecretKey},
	}
}

func (p *program) startProducer(c command) error {
	options := []client.ProducerOption{client.WithTopics(c.Topics...)}
	if c.Check != "" {
		options = append(options, client.WithTransactionChecker(&client.TransactionChecker{
			Check: func(message *client.MessageView) client.TransactionResolution {
				body := string(message.GetBody())
				report("checked", values{"body": body})
				// A broker may ask before it was told: the answer is what it is told.
				if body == "rollback" || c.Check == "ROLLBACK" {
					return client.ROLLBACK
				}
				return client.COMMIT
			},
		}))
	}
	producer, err := client.NewProducer(p.config(""), options...)
	if err != nil {
		return err
	}
	if err := producer.Start(); err != nil {
		return err
	}
	p.producer = producer
	p.closing = append(p.closing, producer.GracefulStop)
	report("ready", nil)
	return nil
}

func subscription(c command) map[string]*client.FilterExpression {
	expression := client.SUB_ALL
	if c.SQL {
		expression = client.NewFilterExpressionWithType(c.Expression, client.SQL92)
	} else if c.Expression != "" {
		expression = client.NewFilterExpression(c.Expression)
	}
	return map[string]*client.FilterExpression{c.Topic: expression}
}

func (p *program) push(c command) error {
	consume := func(message *client.MessageView) client.ConsumerResult {
		seen := shown(message)
		seen["name"] = c.Name
		report("message", seen)
		if c.Failing != "" && string(message.GetBody()) == c.Failing {
			return client.FAILURE
		}
		return client.SUCCESS
	}
	consumer, err := client.NewPushConsumer(
		p.config(c.Group),
		client.WithPushAwaitDuration(await),
		client.WithPushSubscriptionExpressions(subscription(c)),
		client.WithPushConsumptionThreadCount(2),
		client.WithPushMaxCacheMessageCount(64),
		client.WithPushMessageListener(&client.FuncMessageListener{Consume: consume}),
	)
	if err != nil {
		return err
	}
	if err := consumer.Start(); err != nil {
		return err
	}
	p.closing = append(p.closing, consumer.GracefulStop)
	report("ready", nil)
	return nil
}

func (p *program) simple(c command) error {
	consumer, err := client.NewSimpleConsumer(
		p.config(c.Group),
		client.WithSimpleAwaitDuration(await),
		client.WithSimpleSubscriptionExpressions(subscription(c)),
	)
	if err != nil {
		return err
	}
	if err := consumer.Start(); err != nil {
		return err
	}
	p.consumers[c.Name] = consumer
	p.closing = append(p.closing, consumer.GracefulStop)
	report("ready", nil)
	return nil
}

func (p *program) receive(c command) error {
	most, invisible := c.Most, c.InvisibleS
	if most == 0 {
		most = 16
	}
	if invisible == 0 {
		invisible = 15
	}
	messages, err := p.consumers[c.Name].Receive(context.Background(), most, time.Duration(invisible)*time.Second)
	// That there is none is an error to this client.
	if err != nil && !strings.Contains(err.Error(), "MESSAGE_NOT_FOUND") {
		return err
	}
	p.held[c.Name] = messages
	all := []values{}
	for _, message := range messages {
		all = append(all, shown(message))
	}
	report("received", values{"messages": all})
	return nil
}

func (p *program) ack(c command) error {
	for _, message := range p.held[c.Name] {
		if err := p.consumers[c.Name].Ack(context.Background(), message); err != nil {
			return err
		}
	}
	delete(p.held, c.Name)
	report("acked", nil)
	return nil
}

func (p *program) invisible(c command) error {
	for _, message := range p.held[c.Name] {
		err := p.consumers[c.Name].ChangeInvisibleDuration(message, time.Duration(c.Seconds)*time.Second)
		if err != nil {
			return err
		}
	}
	report("changed", nil)
	return nil
}

func (p *program) send(c command) error {
	message := &client.Message{Topic: c.Topic, Body: []byte(c.Body)}
	if c.Tag != "" {
		message.SetTag(c.Tag)
	}
	if c.Keys != nil {
		message.SetKeys(c.Keys...)
	}
	for name, value := range c.Properties {
		message.AddProperty(name, value)
	}
	if c.MessageGroup != "" {
		message.SetMessageGroup(c.MessageGroup)
	}
	if c.DelayMs != 0 {
		message.SetDelayTimestamp(time.Now().Add(time.Duration(c.DelayMs) * time.Millisecond))
	}
	receipts, err := p.delivered(c.Transaction, message)
	if err != nil {
		return err
	}
	report("sent", values{"message_id": receipts[0].MessageID})
	return nil
}

func (p *program) delivered(how string, message *client.Message) ([]*client.SendReceipt, error) {
	if how == "" {
		return p.producer.Send(context.Background(), message)
	}
	transaction := p.producer.BeginTransaction()
	receipts, err := p.producer.SendWithTransaction(context.Background(), message, transaction)
	if err == nil && how == "commit" {
		err = transaction.Commit()
	}
	if err == nil && how == "rollback" {
		err = transaction.RollBack()
	}
	return receipts, err
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

func shown(message *client.MessageView) values {
	return values{
		"topic":      message.GetTopic(),
		"body":       string(message.GetBody()),
		"tag":        message.GetTag(),
		"keys":       message.GetKeys(),
		"properties": message.GetProperties(),
		"message_id": message.GetMessageId(),
		"attempt":    message.GetDeliveryAttempt(),
	}
}
