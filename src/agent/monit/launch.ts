import { hostname } from 'node:os';
import type { MonitProgram, MonitService } from '../../bosh/monit/monit-service.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Programs, StartedProgram } from '../process/programs.ts';
import type { Identities } from '../user/identities.ts';

// monit clears the environment and sets the umask of the programs that it starts (monit: src/env.c,
// src/util.h).
const monitPath = '/bin:/usr/bin:/sbin:/usr/sbin';
const monitUmask = 0o077;

/**
 * Starts a program of a monit file as monit does, except that its output goes to the descriptor `output`.
 * `event` is the value of MONIT_EVENT. `mark` is the launch mark of a start program and its descendants.
 */
export function launchProgram(
  ports: {
    readonly programs: Programs;
    readonly identities: Identities;
    readonly now: () => number;
    readonly output?: number | undefined;
  },
  service: MonitService,
  program: MonitProgram,
  event: string,
  mark?: string,
): StartedProgram {
  const [file, ...rest] = program.arguments;
  const owner = resolveOwner(program, service.job, ports.identities);
  return ports.programs.start({
    file,
    arguments: rest,
    environment: {
      PATH: monitPath,
      MONIT_SERVICE: service.name,
      MONIT_EVENT: event,
      MONIT_DESCRIPTION: event,
      MONIT_HOST: hostname(),
      MONIT_DATE: new Date(ports.now()).toUTCString(),
    },
    directory: '/',
    umask: monitUmask,
    ...(mark === undefined ? {} : { mark }),
    ...(ports.output === undefined ? {} : { stdout: ports.output, stderr: ports.output }),
    ...owner,
  });
}

/**
 * Returns the user and group ids of a program. A user without a group gets its primary group (a user without
 * an entry in passwd the group with the same number), not root's group. Throws AGENT_OWNER_UNAVAILABLE with
 * job and reason if a name is unknown or if the kernel would reject the id. Called at apply as well, so that
 * the error comes before anything has changed.
 */
export function resolveOwner(
  program: MonitProgram,
  job: string,
  identities: Identities,
): { readonly userId?: number; readonly groupId?: number } {
  const { user, group } = program;
  const userId = user === undefined ? undefined : resolveId(user, identities.userId(user));
  const groupId =
    group === undefined ? ownGroupOf(userId, identities) : resolveId(group, identities.groupId(group));
  if (userId !== undefined && Number.isNaN(userId)) throw ownerError(job, `user '${user}'`, 'is unknown');
  if (groupId !== undefined && Number.isNaN(groupId)) throw ownerError(job, `group '${group}'`, 'is unknown');
  if (userId !== undefined && !identities.canActAsUser(userId))
    throw idNotMappedError(job, `user '${user}'`, identities);
  if (groupId !== undefined && !identities.canActAsGroup(groupId))
    throw idNotMappedError(
      job,
      group === undefined ? `group ${groupId} of its user` : `group '${group}'`,
      identities,
    );
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(groupId === undefined ? {} : { groupId }),
  };
}

// A program that starts with a user or group has no supplementary groups (libuv: uv_spawn).
function ownGroupOf(userId: number | undefined, identities: Identities): number | undefined {
  return userId === undefined ? undefined : (identities.primaryGroupId(userId) ?? userId);
}

function resolveId(text: string, named: number | undefined): number {
  return named ?? (/^[0-9]+$/.test(text) ? Number(text) : Number.NaN);
}

function idNotMappedError(job: string, what: string, identities: Identities): ProductError {
  const reason = identities.hasSingleId
    ? 'cannot be used: this VM runs with a single user id (the machine has no subordinate ids)'
    : 'cannot be used: its id is not mapped here, or the agent is not root';
  return ownerError(job, what, reason);
}

function ownerError(job: string, what: string, reason: string): ProductError {
  return new ProductError('AGENT_OWNER_UNAVAILABLE', `job '${job}': the ${what} of its monit file ${reason}`);
}
