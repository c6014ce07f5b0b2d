import { join } from 'node:path';
import { isatty } from 'node:tty';
import { pathToFileURL } from 'node:url';
import type * as Broker from '../../volumes/broker/cli.ts';
import type * as Cell from '../../volumes/cell/cli.ts';
import type * as Demo from '../../volumes/demo/cli.ts';
import type * as Driver from '../../volumes/driver/cli.ts';
import type * as K8sBinding from '../../volumes/k8s-binding/cli.ts';
import { brokerFlags, migrateFlags } from '../../volumes/broker/broker-flags.ts';
import { cellFlags } from '../../volumes/cell/cell-flags.ts';
import { k8sBindingFlags } from '../../volumes/k8s-binding/k8s-binding-flags.ts';
import type { CommandContext } from '../command.ts';
import { withSubCommands } from '../with-sub-commands.ts';

type Bundles = Pick<typeof Broker, 'runBroker' | 'runMigrate'> &
  Pick<typeof Driver, 'runDriver'> &
  Pick<typeof Cell, 'runCell'> &
  Pick<typeof Demo, 'runDemoCommand'> &
  Pick<typeof K8sBinding, 'runK8sBinding'>;

type BundleMain = keyof Bundles;

/** Returns a function that runs a sub-command, which is in a bundle that no other command loads. */
const inBundle =
  (file: string, main: BundleMain) =>
  async (
    args: readonly string[],
    { installation, terminal, environment, signal }: CommandContext,
  ): Promise<number> => {
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
  };

/** The volume services of Cloud Foundry. */
export const volumes = withSubCommands({
  name: 'volumes',
  summary: 'Serve NFS and SMB shares to apps of Cloud Foundry',
  documentation: 'docs/volumes/README.md',
  subCommands: [
    {
      name: 'broker',
      usage: '--config FILE|--demo',
      summary: 'Run the service broker for NFS and SMB shares',
      flags: brokerFlags,
      example: '--demo',
      documentation: 'docs/volumes/broker.md',
      run: inBundle('broker.mjs', 'runBroker'),
    },
    {
      name: 'migrate',
      usage: '--config FILE',
      summary: 'Import the records of nfsbroker and smbbroker',
      flags: migrateFlags,
      example: '--config broker.yml',
      documentation: 'docs/volumes/migration.md',
      run: inBundle('broker.mjs', 'runMigrate'),
    },
    {
      name: 'driver',
      usage: '--name nfsv3driver|smbdriver ...',
      summary: 'Run the volume driver of a cell, as root',
      documentation: 'docs/volumes/driver.md',
      run: inBundle('driver.mjs', 'runDriver'),
    },
    {
      name: 'cell',
      usage: 'run --binding FILE -- COMMAND|repair|purge|drivers',
      summary: 'Run an app with the volumes of its bindings, or unmount what killed cells left (root)',
      flags: cellFlags,
      example: 'run --binding binding.json -- ls /var/vcap/data',
      documentation: 'docs/volumes/cell.md',
      run: inBundle('cell.mjs', 'runCell'),
    },
    {
      name: 'demo',
      usage: '',
      summary: 'Run broker, driver and cell together, with a directory instead of a share (root)',
      documentation: 'docs/volumes/README.md',
      run: inBundle('demo.mjs', 'runDemoCommand'),
    },
    {
      name: 'k8s-binding',
      usage: '--namespace NAME [FILE]',
      summary: 'Write a binding as objects of Kubernetes',
      flags: k8sBindingFlags,
      example: '--namespace apps binding.json',
      documentation: 'docs/volumes/k8s-binding.md',
      run: inBundle('k8s-binding.mjs', 'runK8sBinding'),
    },
  ],
});
