import { join } from 'node:path';
import { isatty } from 'node:tty';
import { pathToFileURL } from 'node:url';
import { ProductError } from '../../errors/product-error.ts';
import type * as Migrate from '../../volumes/broker/migrate/run-migrate.ts';
import type * as Broker from '../../volumes/broker/run-broker.ts';
import type { Command } from '../command.ts';

type BrokerModule = Pick<typeof Broker, 'runBroker'> & Pick<typeof Migrate, 'runMigrate'>;

/**
 * The volume services of Cloud Foundry. What they are made of is in a bundle of its own, which no other
 * command loads.
 */
export const volumes: Command = {
  name: 'volumes',
  usage: 'broker --config FILE | broker --try | migrate --config FILE',
  summary:
    'Run the service broker for NFS and SMB shares, try it, or take over the records of the old brokers',
  async run([name, ...words], { installation, terminal, environment, signal }) {
    if (name !== 'broker' && name !== 'migrate')
      throw new ProductError('INVALID_ARGUMENT', `Usage: volumes ${volumes.usage}`);
    const path = join(installation.root, 'dist', 'volumes', 'broker.mjs');
    const { runBroker, runMigrate } = (await import(pathToFileURL(path).href)) as BrokerModule;
    return (name === 'broker' ? runBroker : runMigrate)(words, {
      environment,
      out: (text) => terminal.out(text),
      signal,
      isTerminal: isatty(process.stdout.fd),
    });
  },
};
