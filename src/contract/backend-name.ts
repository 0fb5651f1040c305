// What a mechanism is called. It stands alone so that whoever only names one, as a browser does, needs no types of Node's.

export type BackendName = 'bwrap' | 'seatbelt' | 'docker' | 'kubernetes' | 'local' | (string & {})
