import { everyNamespace } from '../../../src/cni/address/assert-may-ask.ts';
import { wrapConflist } from '../../../src/cni/install/wrap-conflist.ts';
import { network, type NodePlan } from '../network.ts';

/**
 * The pod network of a node, as CNI reads it from /etc/cni/net.d: every pod is on the node's bridge, which is one network
 * with those of the other nodes. With `static-ip` before it where that is built.
 */
export function podNetwork(plan: NodePlan, withStaticIp: boolean): string {
  const text = JSON.stringify(bridgedNetwork(plan), undefined, 2);
  // each test has a namespace of its own
  const wrap = { file: conflistName, text, plugin: undefined, namespaces: [everyNamespace] };
  return withStaticIp ? wrapConflist(wrap) : text;
}

export const conflistName = '10-pods.conflist';

/** Those that it is made by. */
export const plugins = ['bridge', 'host-local'] as const;

function bridgedNetwork({ address }: NodePlan): unknown {
  const [bridge, hostLocal] = plugins;
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: bridge,
        bridge: 'br0',
        isGateway: false,
        ipMasq: false,
        // a pod that calls itself by its Service: br_netfilter sends the frame back by the port that it came
        // by
        hairpinMode: true,
        ipam: {
          type: hostLocal,
          ranges: [
            [
              {
                subnet: network.subnet,
                rangeStart: network.pods.first,
                rangeEnd: network.pods.last,
                gateway: address,
              },
            ],
          ],
          routes: [{ dst: '0.0.0.0/0', gw: address }],
        },
      },
    ],
  };
}
