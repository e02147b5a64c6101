// Starts two brokers of kfake and prints their addresses, in the order of their node ids. Then it reads where
// partitions are to be, one JSON document each, and confirms each with a line. Ends with its standard input.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

type placement struct {
	Topic     string
	Partition int32
	// The first one leads.
	Replicas []int32
}

func place(cluster *kfake.Cluster, p placement) error {
	// A move to the same leader would also begin an epoch.
	if cluster.LeaderFor(p.Topic, p.Partition) != p.Replicas[0] {
		if err := cluster.MoveTopicPartition(p.Topic, p.Partition, p.Replicas[0]); err != nil {
			return err
		}
	}
	cluster.SetFollowers(p.Topic, p.Partition, p.Replicas[1:])
	return nil
}

func run() error {
	// The longest session is Kafka's default.
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.GroupMaxSessionTimeout(30*time.Minute))
	if err != nil {
		return err
	}
	defer cluster.Close()
	output := json.NewEncoder(os.Stdout)
	if err := output.Encode(cluster.ListenAddrs()); err != nil {
		return err
	}
	for input := json.NewDecoder(os.Stdin); input.More(); {
		var p placement
		if err := input.Decode(&p); err != nil {
			return err
		}
		if err := place(cluster, p); err != nil {
			return err
		}
		if err := output.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
