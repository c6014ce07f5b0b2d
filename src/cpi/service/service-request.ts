import type { PortRequest } from './service-ports.ts';

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const;

/**
 * The pods to which a Service sends traffic: all VMs of the instance group, only this VM (or its successor),
 * or all pods with these labels.
 */
export type ServiceSelector = 'group' | 'vm' | Readonly<Record<string, string>>;

/** A Service that a VM's cloud_properties or a vip network request. */
export interface ServiceRequest {
  readonly name: string;
  readonly type: (typeof serviceTypes)[number];
  /** `None`: headless. Absent: any address. */
  readonly clusterIp: string | undefined;
  readonly ports: readonly PortRequest[];
  /** Absent: the group, if the VM has one. */
  readonly selector: ServiceSelector | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly loadBalancerIp: string | undefined;
  readonly loadBalancerClass: string | undefined;
  readonly externalIps: readonly string[];
}
