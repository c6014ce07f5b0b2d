import type { PortRequest } from './service-ports.ts';

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const;

/**
 * Which pods a Service passes traffic to: all VMs of the instance group, this VM alone (or its successor), or whatever
 * has these labels.
 */
export type ServiceSelector = 'group' | 'vm' | Readonly<Record<string, string>>;

/** A Service that a VM's cloud_properties or a vip network ask for. */
export interface ServiceRequest {
  readonly name: string;
  readonly type: (typeof serviceTypes)[number];
  /** `None`: headless. Absent: any. */
  readonly clusterIp: string | undefined;
  readonly ports: readonly PortRequest[];
  /** Absent: the group, where the VM has one. */
  readonly selector: ServiceSelector | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly loadBalancerIp: string | undefined;
  readonly loadBalancerClass: string | undefined;
  readonly externalIps: readonly string[];
}
