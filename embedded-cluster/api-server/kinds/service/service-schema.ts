import {
  any,
  fields,
  boolean,
  integer,
  integerOrText,
  kindSchema,
  array,
  mapOf,
  string,
  time,
} from '../../schema/schema.ts';

const port = fields({
  name: string,
  protocol: string,
  port: integer,
  targetPort: integerOrText,
  nodePort: integer,
  appProtocol: string,
});

const condition = fields({
  type: string,
  status: string,
  observedGeneration: integer,
  lastTransitionTime: time,
  reason: string,
  message: string,
});

/** The fields of v1.Service that a cluster on one machine without DNS and load balancer supports. */
export const serviceSchema = kindSchema({
  spec: fields({
    type: string,
    selector: mapOf(string),
    ports: array(port, { key: 'port' }),
    clusterIP: string,
    clusterIPs: array(string),
    externalIPs: array(string),
    externalName: string,
    loadBalancerIP: string,
    loadBalancerClass: string,
    loadBalancerSourceRanges: array(string),
    allocateLoadBalancerNodePorts: boolean,
    externalTrafficPolicy: string,
    internalTrafficPolicy: string,
    sessionAffinity: string,
    publishNotReadyAddresses: boolean,
    ipFamilies: array(string),
    ipFamilyPolicy: string,
  }),
  status: fields({
    loadBalancer: fields({
      ingress: array(fields({ ip: string, hostname: string, ipMode: string, ports: array(any) })),
    }),
    conditions: array(condition, { key: 'type' }),
  }),
});
