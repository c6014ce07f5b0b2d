import { randomUUID } from 'node:crypto';
import { systemClock } from '../deploy/clock.ts';
import type { EnvPorts } from '../deploy/options.ts';
import type { CommandContext } from './command.ts';

/** Connects the deployer to this process. */
export function envPorts({ terminal, environment }: CommandContext): EnvPorts {
  return {
    write: (text) => terminal.out(text),
    warn: (message) => terminal.error(`Warning: ${message}`),
    clock: systemClock,
    uuid: randomUUID,
    environment,
  };
}
