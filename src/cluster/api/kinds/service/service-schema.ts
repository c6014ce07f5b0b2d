import {
  anything,
  fields,
  flag,
  integer,
  integerOrText,
  kindSchema,
  listOf,
  mapOf,
  text,
  time,
} from '../../schema/schema.ts';

const port = fields({
  name: text,
  protocol: text,
  port: integer,
  targetPort: integerOrText,
  nodePort: integer,
  appProtocol: text,
});

const condition = fields({
  type: text,
  status: text,
  observedGeneration: integer,
  lastTransitionTime: time,
  reason: text,
  message: text,
});

/** v1.Service, as far as a cluster of one machine without DNS and load balancer can do it. */
export const serviceSchema = kindSchema({
  spec: fields({
    type: text,
    selector: mapOf(text),
    ports: listOf(port, { key: 'port' }),
    clusterIP: text,
    clusterIPs: listOf(text),
    externalIPs: listOf(text),
    externalName: text,
    loadBalancerIP: text,
    loadBalancerClass: text,
    loadBalancerSourceRanges: listOf(text),
    allocateLoadBalancerNodePorts: flag,
    externalTrafficPolicy: text,
    internalTrafficPolicy: text,
    sessionAffinity: text,
    publishNotReadyAddresses: flag,
    ipFamilies: listOf(text),
    ipFamilyPolicy: text,
  }),
  status: fields({
    loadBalancer: fields({
      ingress: listOf(fields({ ip: text, hostname: text, ipMode: text, ports: listOf(anything) })),
    }),
    conditions: listOf(condition, { key: 'type' }),
  }),
});
