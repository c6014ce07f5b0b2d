/** Formats an age as kubectl does: `45s`, `12m`, `3h20m`, `5d4h`, `400d`; `-` if the time is not known. */
export function formatAge(createdAt: string, now: number): string {
  const seconds = Math.floor((now - Date.parse(createdAt)) / 1000);
  if (Number.isNaN(seconds)) return '-';
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (minutes < 180) return `${minutes}m`;
  if (hours < 48) return hours < 8 && minutes % 60 > 0 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return days < 8 && hours % 24 > 0 ? `${days}d${hours % 24}h` : `${days}d`;
}
