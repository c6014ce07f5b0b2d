/** The fields of /proc/<pid>/stat that the agent reads (proc(5)). */
export interface ProcStat {
  readonly name: string;
  readonly state: string;
  readonly parentPid: number;
  readonly sessionId: number;
  readonly startTicks: number;
  readonly cpuTicks: number;
  readonly residentPages: number;
}

/** Reads /proc/<pid>/stat. The name in parentheses may contain any text, even parentheses and blanks. */
export function parseProcStat(text: string): ProcStat | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const fields = text
    .slice(close + 2)
    .trim()
    .split(' ');
  // fields[0] is field 3 of proc(5)
  const number = (field: number): number => Number(fields[field - 3]);
  const stat = {
    name: text.slice(open + 1, close),
    state: fields[0] ?? '',
    parentPid: number(4),
    sessionId: number(6),
    startTicks: number(22),
    cpuTicks: number(14) + number(15),
    residentPages: number(24),
  };
  return Number.isFinite(stat.startTicks + stat.cpuTicks + stat.residentPages) ? stat : undefined;
}
