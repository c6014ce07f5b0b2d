import { isIP } from 'node:net';
import type { Field } from '../../platform/field.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../log.ts';
import { describeExit, type Programs, runAgentProgram } from '../process/programs.ts';
import { scriptPath } from '../script/job-script.ts';
import { type Action, argument } from './action.ts';

export interface DeleteArpEntriesOptions {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * `delete_arp_entries [{ips}]` -> `{}`: the VM forgets the hardware addresses of these IP addresses, which
 * belong to new VMs now. The director does not wait for an answer, so a failure is only logged: without the
 * capability NET_ADMIN the kernel forgets them after some time by itself.
 */
export function deleteArpEntries(options: DeleteArpEntriesOptions): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      for (const address of addressesOf(argument(args, 0, 'request').get('ips'))) {
        const exit = await runAgentProgram(
          options,
          { file: 'ip', arguments: ['neigh', 'flush', 'to', address], environment: { PATH: scriptPath } },
          new AbortController().signal,
        );
        if (exit.code !== 0) options.log.info(`ip neigh flush to ${address} ${describeExit(exit)}`);
      }
      return {};
    },
  };
}

const addressesOf = (ips: Field): readonly string[] =>
  ips.list().map((ip) => ip.stringThat((text) => isIP(text) !== 0, 'must be an IP address'));
