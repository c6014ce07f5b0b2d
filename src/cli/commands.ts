import { cluster } from './commands/cluster.ts';
import { createEnv } from './commands/create-env.ts';
import { createRelease } from './commands/create-release.ts';
import { deleteEnv } from './commands/delete-env.ts';
import { director } from './commands/director.ts';
import { destroy } from './commands/destroy.ts';
import { inspectLocalRelease } from './commands/inspect-local-release.ts';
import { interpolate } from './commands/interpolate.ts';
import { logs } from './commands/logs.ts';
import { orphans } from './commands/orphans.ts';
import { release } from './commands/release.ts';
import { scp } from './commands/scp.ts';
import { socks5ConnectCommand } from './commands/socks5-connect.ts';
import { ssh } from './commands/ssh.ts';
import { startEnv } from './commands/start-env.ts';
import { status } from './commands/status.ts';
import { stemcell } from './commands/stemcell.ts';
import { stopEnv } from './commands/stop-env.ts';
import { stop } from './commands/stop.ts';
import { tunnel } from './commands/tunnel.ts';
import { up } from './commands/up.ts';
import { volumes } from './commands/volumes.ts';
import type { Command } from './command.ts';

/** All sub-commands, in the order of the help text. */
export const commands: readonly Command[] = [
  up,
  stop,
  status,
  orphans,
  destroy,
  cluster,
  createEnv,
  deleteEnv,
  stopEnv,
  startEnv,
  ssh,
  scp,
  logs,
  socks5ConnectCommand,
  interpolate,
  director,
  createRelease,
  inspectLocalRelease,
  release,
  tunnel,
  stemcell,
  volumes,
];
