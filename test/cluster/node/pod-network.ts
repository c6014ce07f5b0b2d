import { everyNamespace } from '../../../src/cni/plugin/requested-addresses.ts';
import { wrapConflist } from '../../../src/cni/install/conflist.ts';
import { network, type NodePlan } from '../network.ts';

/**
 * Returns the pod network of a node in the format of /etc/cni/net.d: every pod is on the node's bridge, which
 * is one network with those of the other nodes. The plugin `static-ip` comes first if it is built.
 */
export function podNetwork(plan: NodePlan, withStaticIp: boolean): string {
  const text = JSON.stringify(bridgedNetwork(plan), undefined, 2);
  // Each test has its own namespace.
  const wrap = { file: conflistName, text, plugin: undefined, namespaces: [everyNamespace] };
  return withStaticIp ? wrapConflist(wrap) : text;
}

export const conflistName = '10-pods.conflist';

/** The plugins of the pod network. */
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
        // For a pod that connects to itself through its Service: br_netfilter sends the frame back through
        // the port on which it arrived.
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
