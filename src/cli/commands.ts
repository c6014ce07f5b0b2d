import type { Command } from './command.ts';
import { cluster, stop } from './commands/cluster.ts';
import { destroy } from './commands/destroy.ts';
import { director } from './commands/director.ts';
import { doctor } from './commands/doctor.ts';
import { completeCommand, completion } from './commands/completion.ts';
import { createEnv, deleteEnv, startEnv, stopEnv } from './commands/env.ts';
import { interpolate } from './commands/interpolate.ts';
import { orphans } from './commands/orphans.ts';
import { createRelease, inspectLocalRelease, release } from './commands/release.ts';
import { logs, scp, ssh } from './commands/ssh.ts';
import { state } from './commands/state.ts';
import { status } from './commands/status.ts';
import { stemcell } from './commands/stemcell.ts';
import { socks5ConnectCommand, tunnel } from './commands/tunnel.ts';
import { trace } from './commands/trace.ts';
import { up } from './commands/up.ts';
import { volumes } from './commands/volumes.ts';

/** All commands, in the order of the help text. */
export const commands: readonly Command[] = [
  up,
  stop,
  status,
  orphans,
  trace,
  destroy,
  cluster,
  createEnv,
  deleteEnv,
  stopEnv,
  startEnv,
  state,
  ssh,
  scp,
  logs,
  socks5ConnectCommand,
  interpolate,
  director,
  doctor,
  createRelease,
  inspectLocalRelease,
  release,
  tunnel,
  stemcell,
  volumes,
  completion,
  completeCommand(() => commands),
];
