import type { KubernetesObject } from './object.ts';

/** The part of v1.Service that we write or read. */
export interface Service extends KubernetesObject {
  spec: ServiceSpec;
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } };
}

export interface ServiceSpec {
  type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  selector?: Record<string, string>;
  ports?: ServicePort[];
  /** `None`: headless. */
  clusterIP?: string;
  clusterIPs?: string[];
  externalIPs?: string[];
  loadBalancerIP?: string;
  loadBalancerClass?: string;
  loadBalancerSourceRanges?: string[];
  allocateLoadBalancerNodePorts?: boolean;
  externalName?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  internalTrafficPolicy?: string;
  sessionAffinity?: string;
  publishNotReadyAddresses?: boolean;
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
}

export interface ServicePort {
  name?: string;
  protocol?: string;
  port: number;
  /** A port of the pod, by its number or by its name in the container. */
  targetPort?: number | string;
  nodePort?: number;
  appProtocol?: string;
}

/** discovery.k8s.io/v1 EndpointSlice: the addresses of the pods of a Service. */
export interface EndpointSlice extends KubernetesObject {
  addressType: 'IPv4' | 'IPv6' | 'FQDN';
  /** The API returns null if there are none. */
  endpoints?: Endpoint[] | null;
  ports?: EndpointPort[] | null;
}

export interface Endpoint {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  nodeName?: string;
  targetRef?: { kind: string; namespace?: string; name?: string; uid?: string };
}

export interface EndpointPort {
  name?: string;
  protocol?: string;
  port?: number;
}

/** The label of an EndpointSlice that names its Service. */
export const serviceNameLabel = 'kubernetes.io/service-name';
