/** What becomes of a wish that is NOT_SUPPORTED, in its message (reference cpi.md 1.5). */
export const ownWay = 'a director copies it file by file to another disk instead';
