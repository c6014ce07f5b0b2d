import { join } from 'node:path';
import { isatty } from 'node:tty';
import { pathToFileURL } from 'node:url';
import { ProductError } from '../../errors/product-error.ts';
import type * as Migrate from '../../volumes/broker/migrate/run-migrate.ts';
import type * as Broker from '../../volumes/broker/run-broker.ts';
import type * as Driver from '../../volumes/driver/run-driver.ts';
import type * as K8sBinding from '../../volumes/k8s-binding/run-k8s-binding.ts';
import type { Command } from '../command.ts';

type Bundles = Pick<typeof Broker, 'runBroker'> &
  Pick<typeof Migrate, 'runMigrate'> &
  Pick<typeof Driver, 'runDriver'> &
  Pick<typeof K8sBinding, 'runK8sBinding'>;

/** The bundle that has a sub-command, and how it is called there. */
const subCommands = {
  broker: ['broker.mjs', 'runBroker'],
  migrate: ['broker.mjs', 'runMigrate'],
  driver: ['driver.mjs', 'runDriver'],
  'k8s-binding': ['k8s-binding.mjs', 'runK8sBinding'],
} as const;

const isSubCommand = (name: string): name is keyof typeof subCommands => Object.hasOwn(subCommands, name);

/**
 * The volume services of Cloud Foundry. What they are made of is in bundles of their own, which no other
 * command loads.
 */
export const volumes: Command = {
  name: 'volumes',
  usage:
    'broker --config FILE | broker --try | migrate --config FILE | driver --name nfsv3driver|smbdriver FLAGS | ' +
    'k8s-binding --namespace NAME [FILE]',
  summary:
    'Run the service broker for NFS and SMB shares, try it, take over the records of the old brokers, run the volume driver of a cell, or write a binding for Kubernetes',
  async run([name = '', ...words], { installation, terminal, environment, signal }) {
    if (!isSubCommand(name)) throw new ProductError('INVALID_ARGUMENT', `Usage: volumes ${volumes.usage}`);
    const [file, main] = subCommands[name];
    const path = join(installation.root, 'dist', 'volumes', file);
    const bundle = (await import(pathToFileURL(path).href)) as Bundles;
    return bundle[main](words, {
      environment,
      out: (text) => terminal.out(text),
      signal,
      // a stream is made of it when it is first asked for
      get input() {
        return process.stdin;
      },
      isTerminal: isatty(process.stdout.fd),
    });
  },
};
