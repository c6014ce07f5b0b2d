// The volume drivers of the real cluster's suite (drivers.ts), on loop devices with ext4. Processes:
//
// On each node, in the node's mount namespace (any network), before or after its kubelet:
//   main.ts node --node-id node-1 --zone z1 --directory DIR --sockets SOCKETS --kubelet-root ROOT
// This is one process for all drivers. It registers them in ROOT/plugins_registry (no node-driver-registrar).
//
// Once, with the control plane (any mount namespace that sees DIR and /proc of the nodes' processes):
//   main.ts controller --directory DIR --sockets SOCKETS
// It serves the controller service of each driver on SOCKETS/<driver>.sock, where <driver> is `loop`, `plain`
// or `zonal`.
// The sidecars that sidecarsOf (drivers.ts) returns for each driver, with --kubeconfig=FILE: csi-attacher and
// csi-provisioner for all drivers, csi-resizer and csi-snapshotter if the driver supports it. `zonal` may be
// left out, with its objects.
// snapshot-controller --kubeconfig=FILE --leader-election=false
//
// DIR is one directory that the controller and all nodes see under the same path. So is SOCKETS, whose path
// must be short, because the path of a socket has at most 107 bytes. Objects to create in the cluster:
// storage-objects.ts. Each process prints one JSON line `{"ready":true}` when it serves, and then one
// line per call. SIGTERM ends it. SIGKILL at any point is also safe.
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../src/platform/clock.ts';
import { startController, startNode } from './start.ts';
import { drivers } from './drivers.ts';

const usage = `usage: main.ts node --node-id ID [--zone ZONE] --directory DIR --sockets DIR --kubelet-root DIR
       main.ts controller --directory DIR --sockets DIR`;

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'node-id': text,
    zone: text,
    directory: text,
    sockets: text,
    'kubelet-root': text,
  },
});

const log = (line: object): void => {
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

const common = {
  directory: given('directory'),
  sockets: given('sockets'),
  drivers,
  clock: systemClock,
  log: log,
};
switch (positionals[0]) {
  case 'node': {
    const node = { nodeId: given('node-id'), zone: values.zone, kubeletRoot: given('kubelet-root') };
    stops.push(...(await startNode({ ...common, ...node })));
    break;
  }
  case 'controller': {
    stops.push(...(await startController(common)));
    break;
  }
  default:
    console.error(usage);
    process.exit(2);
}
// The process is killed more often than it exits. Flush now so that the next one can use the compile cache.
flushCompileCache();
log({ ready: true });
