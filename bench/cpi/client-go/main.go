// What a CPI in Go with client-go does for `info` and for create_disk with a storage class: the same requests as ours.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

type request struct {
	Method    string            `json:"method"`
	Arguments []json.RawMessage `json:"arguments"`
}

type response struct {
	Result any     `json:"result"`
	Error  *string `json:"error"`
	Log    string  `json:"log"`
}

type config struct {
	Kubernetes struct {
		Kubeconfig json.RawMessage `json:"kubeconfig"`
		Namespace  string          `json:"namespace"`
	} `json:"kubernetes"`
}

func main() {
	result, err := answer()
	reply := response{Result: result}
	if err != nil {
		message := err.Error()
		reply.Error = &message
	}
	if err := json.NewEncoder(os.Stdout).Encode(reply); err != nil {
		os.Exit(1)
	}
}

func answer() (any, error) {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	var call request
	if err := json.Unmarshal(input, &call); err != nil {
		return nil, err
	}
	if call.Method == "info" {
		return map[string]any{"api_version": 2, "stemcell_formats": []string{"docker-light"}}, nil
	}
	return createDisk(call.Arguments)
}

func createDisk(arguments []json.RawMessage) (any, error) {
	var size int64
	var properties struct {
		StorageClass string `json:"storage_class"`
	}
	if err := json.Unmarshal(arguments[0], &size); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(arguments[1], &properties); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return nil, err
	}
	var settings config
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	access, err := clientcmd.RESTConfigFromKubeConfig(settings.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if _, err := client.StorageV1().StorageClasses().Get(ctx, properties.StorageClass, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("disk-%x", random), Namespace: settings.Kubernetes.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: &properties.StorageClass,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(size<<20, resource.BinarySI)},
			},
		},
	}
	made, err := client.CoreV1().PersistentVolumeClaims(settings.Kubernetes.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return made.Name, nil
}
