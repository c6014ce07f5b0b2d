import { join } from 'node:path';
import { isatty } from 'node:tty';
import { pathToFileURL } from 'node:url';
import { ProductError } from '../../errors/product-error.ts';
import type * as Broker from '../../volumes/broker/cli.ts';
import type * as Cell from '../../volumes/cell/cli.ts';
import type * as Demo from '../../volumes/demo/cli.ts';
import type * as Driver from '../../volumes/driver/cli.ts';
import type * as K8sBinding from '../../volumes/k8s-binding/cli.ts';
import type { Command } from '../command.ts';

type Bundles = Pick<typeof Broker, 'runBroker' | 'runMigrate'> &
  Pick<typeof Driver, 'runDriver'> &
  Pick<typeof Cell, 'runCell'> &
  Pick<typeof Demo, 'runDemoCommand'> &
  Pick<typeof K8sBinding, 'runK8sBinding'>;

/** Each sub-command with its bundle and the function to call there. */
const subCommands = {
  broker: ['broker.mjs', 'runBroker'],
  migrate: ['broker.mjs', 'runMigrate'],
  driver: ['driver.mjs', 'runDriver'],
  cell: ['cell.mjs', 'runCell'],
  demo: ['demo.mjs', 'runDemoCommand'],
  'k8s-binding': ['k8s-binding.mjs', 'runK8sBinding'],
} as const;

const isSubCommand = (name: string): name is keyof typeof subCommands => Object.hasOwn(subCommands, name);

/** The volume services of Cloud Foundry. Their code is in separate bundles, which no other command loads. */
export const volumes: Command = {
  name: 'volumes',
  usage: `${Object.keys(subCommands).join('|')} ...`,
  summary: 'Serve NFS and SMB shares to apps of Cloud Foundry',
  subCommands: [
    [
      'broker --config FILE|--demo',
      'Run the service broker for NFS and SMB shares; --demo sends the requests of the life of a binding',
    ],
    ['migrate --config FILE', 'Import the records of nfsbroker and smbbroker'],
    [
      'driver --name nfsv3driver|smbdriver FLAGS',
      'Run the volume driver of a cell (root; docs/volumes/driver.md has the flags)',
    ],
    [
      'cell run --binding FILE [OPTIONS] -- COMMAND...',
      'Run an app with the volumes of its bindings (root; docs/volumes/cell.md has the options)',
    ],
    [
      'cell repair|purge|drivers',
      'Unmount what killed cells left, or every volume; list the drivers that answer (root)',
    ],
    ['demo', 'Run broker, driver and cell together, with a directory instead of a share (root)'],
    [
      'k8s-binding --namespace NAME [OPTIONS] [FILE]',
      'Write a binding as objects of Kubernetes (docs/volumes/k8s-binding.md has the options)',
    ],
  ],
  async run([name = '', ...args], { installation, terminal, environment, signal }) {
    if (!isSubCommand(name))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `'volumes' needs one of ${Object.keys(subCommands).join(', ')}; bosh-kubernetes help shows their use`,
      );
    const [file, main] = subCommands[name];
    const path = join(installation.root, 'dist', 'volumes', file);
    const bundle = (await import(pathToFileURL(path).href)) as Bundles;
    return bundle[main](args, {
      environment,
      out: (text) => terminal.out(text),
      signal,
      // The stream is created at the first access.
      get input() {
        return process.stdin;
      },
      isTerminal: isatty(process.stdout.fd),
    });
  },
};
