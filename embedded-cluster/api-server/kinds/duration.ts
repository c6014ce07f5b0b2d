/**
 * Returns an age as kubectl prints it: `5s`, `3m10s`, `4h`, `2d3h` (apimachinery pkg/util/duration
 * HumanDuration). Returns `<invalid>` for a time in the future, `<unknown>` if there is no time.
 */
export function ageOf(time: unknown, now: number): string {
  if (typeof time !== 'string') return '<unknown>';
  const seconds = Math.floor((now - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < -1) return '<invalid>';
  return humanDuration(Math.max(seconds, 0));
}

function humanDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${smallerUnit(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${smallerUnit(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${smallerUnit(hours % 24, 'h')}`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? `${years}y${smallerUnit(days % 365, 'd')}` : `${years}y`;
}

function smallerUnit(count: number, unit: string): string {
  return count === 0 ? '' : `${count}${unit}`;
}
