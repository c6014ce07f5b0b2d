import type { NamespacedObject } from '../object.ts';
import type { LabelSelector } from './pod.ts';

/** The part of v1.Service that we write or read. */
export interface Service extends NamespacedObject {
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
export interface EndpointSlice extends NamespacedObject {
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

/** policy/v1 PodDisruptionBudget. */
export interface PodDisruptionBudget extends NamespacedObject {
  spec: {
    /** A number, or a percentage of the replicas that the pods' controllers desire, as `50%`. */
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    selector?: LabelSelector;
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: DisruptionBudgetStatus;
}

export interface DisruptionBudgetStatus {
  observedGeneration?: number;
  /**
   * Evictions that the server allowed and that have not happened yet: the pod's name and the time of the
   * eviction.
   */
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: BudgetCondition[];
}

interface BudgetCondition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}
