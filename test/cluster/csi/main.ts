// The volume drivers of the real cluster's suite (drivers.ts), over loop devices with ext4. Processes:
//
// on each node, in the node's mount namespace (any network), before or after its kubelet:
//   main.ts node --node-id node-1 --zone z1 --directory DIR --sockets SOCKETS --kubelet-root ROOT
//     one process for all drivers. Registers them by itself in ROOT/plugins_registry (no node-driver-registrar).
//
// once, with the control plane (any mount namespace that sees DIR and /proc of the nodes' processes; network of the API server):
//   main.ts controller --directory DIR --sockets SOCKETS --kubeconfig FILE
//     the controller service of each driver on SOCKETS/<driver>.sock, where <driver> is `loop`, `plain` and `zonal`, and the
//     provisioner of all of them. Without --kubeconfig only the services.
//   what sidecarsOf (sidecars.ts) lists for each driver, with --kubeconfig=FILE: external-attacher for all, external-resizer
//   and csi-snapshotter where the driver can. `zonal` may be left out, with its objects.
//   snapshot-controller --kubeconfig=FILE --leader-election=false
//
// DIR is one directory that controller and nodes see under the same path; SOCKETS likewise, with a short path, since a
// socket's has at most 107 bytes. Objects to create in the cluster: objects/storage-objects.ts. Each process says one JSON line
// `{"ready":true}` when it serves, then one per call. SIGTERM ends it; SIGKILL at any point is as good.
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openApi } from '../../../src/kubernetes/open-api.ts';
import { systemClock } from '../../../src/kubernetes/clock.ts';
import { loadAccess } from '../../../src/kubernetes/load-access.ts';
import { readTextFile } from '../../../src/kubernetes/read-text-file.ts';
import { startController, startNode } from './start.ts';
import { drivers } from './drivers.ts';
import { startProvisioner } from './provisioner/start-provisioner.ts';

const usage = `usage: main.ts node --node-id ID [--zone ZONE] --directory DIR --sockets DIR --kubelet-root DIR
       main.ts controller --directory DIR --sockets DIR [--kubeconfig FILE]`;

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'node-id': text,
    zone: text,
    directory: text,
    sockets: text,
    'kubelet-root': text,
    kubeconfig: text,
  },
});

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
};

const given = (name: 'directory' | 'sockets' | 'node-id' | 'kubelet-root'): string => {
  const value = values[name];
  if (value !== undefined) return value;
  console.error(`--${name} is missing\n${usage}`);
  process.exit(2);
};

const stops: (() => void | Promise<void>)[] = [];
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void Promise.all(stops.map(async (stop) => await stop())).then(() => process.exit(0));
  });
}

const common = { directory: given('directory'), sockets: given('sockets'), drivers, clock: systemClock, say };
switch (positionals[0]) {
  case 'node': {
    const node = { nodeId: given('node-id'), zone: values.zone, kubeletRoot: given('kubelet-root') };
    stops.push(...(await startNode({ ...common, ...node })));
    break;
  }
  case 'controller': {
    stops.push(...(await startController(common)));
    if (values.kubeconfig !== undefined) {
      const provisioner = await startProvisioner({
        api: await openApi(await loadAccess(readTextFile(values.kubeconfig))),
        drivers: drivers.map((driver) => ({
          driver,
          socket: join(common.sockets, `${driver.socketName}.sock`),
        })),
        clock: systemClock,
        random: Math.random,
        onError: (error) =>
          say({ error: error instanceof Error ? `${error.message}: ${String(error.cause)}` : error }),
      });
      stops.push(() => provisioner.stop());
    }
    break;
  }
  default:
    console.error(usage);
    process.exit(2);
}
// it is killed more often than it ends: the next one starts from what is compiled now
flushCompileCache();
say({ ready: true });
