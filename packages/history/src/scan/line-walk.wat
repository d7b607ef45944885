;; Passes over the plain lines of a transcript and notes what a list needs of them. A line is plain if its keys of
;; interest stand before its first nested value or behind its last one, without spaces, and nothing in it is new. At any
;; other line the walk stops, and JavaScript reads that one: `session-facts.ts` says what every field means.
;;
;; The notes are 32-bit numbers from $notes on: 0 lines passed, 1 of them with a time, 2 prompts and results outside of side
;; chains, 3 hashes noted, 4 and 5 the last title line, 6 and 7 the last last-prompt line, 8 the length of the known
;; working directory, 9 and 10 the last line without a time if no line with one follows. Text: at 64 the smallest time, at 96 the largest, at 128 the working directory (up to 1,024 bytes).
;; The hashes of answers' ids, up to 8,192 of them, are at 2048.
(module
  (import "env" "memory" (memory 1))
  (global $notes (mut i32) (i32.const 0))
  (global $typeAt (mut i32) (i32.const 0))
  (global $typeEnd (mut i32) (i32.const 0))
  (global $timeAt (mut i32) (i32.const 0))
  (global $timeEnd (mut i32) (i32.const 0))
  (global $cwdAt (mut i32) (i32.const 0))
  (global $cwdEnd (mut i32) (i32.const 0))
  (global $isSide (mut i32) (i32.const 0))
  (global $isMessage (mut i32) (i32.const 0))

  ;; Which of the sixteen bytes at $at are quotes or backslashes.
  (func $marks (param $at i32) (result i32)
    (local $bytes v128)
    (local.set $bytes (v128.load align=1 (local.get $at)))
    (i8x16.bitmask
      (v128.or
        (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))
        (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c))))))

  ;; The place behind the string whose opening quote is at $at, or 0.
  (func $behindString (param $at i32) (param $end i32) (result i32)
    (local $marks i32)
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (block $none
      (loop $next
        (br_if $none (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $marks (call $marks (local.get $at)))
        (if (i32.eqz (local.get $marks))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $next)))
        (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $marks))))
        (br_if $none (i32.ge_u (local.get $at) (local.get $end)))
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x22))
          (then (return (i32.add (local.get $at) (i32.const 1)))))
        (local.set $at (i32.add (local.get $at) (i32.const 2)))
        (br $next)))
    (i32.const 0))

  ;; The place of the next comma or closing brace.
  (func $behindScalar (param $at i32) (param $end i32) (result i32)
    (local $byte i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $byte (i32.load8_u (local.get $at)))
        (br_if $done (i32.eq (local.get $byte) (i32.const 0x2c)))
        (br_if $done (i32.eq (local.get $byte) (i32.const 0x7d)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.get $at))

  ;; Keeps the value of a key of interest. The value is given without quotes.
  (func $note (param $key i32) (param $length i32) (param $value i32) (param $valueEnd i32) (param $isString i32)
    (if (i32.eqz (local.get $isString))
      (then
        (if (i32.and (i32.eq (local.get $length) (i32.const 11)) (i32.eq (i32.load8_u (local.get $value)) (i32.const 0x74)))
          ;; isSidech
          (then
            (if (i64.eq (i64.load align=1 (local.get $key)) (i64.const 0x6863656469537369))
              (then (global.set $isSide (i32.const 1))))))
        (return)))
    (if (i32.eq (local.get $length) (i32.const 4))
      (then
        (if (i32.eq (i32.load align=1 (local.get $key)) (i32.const 0x65707974))
          (then (global.set $typeAt (local.get $value)) (global.set $typeEnd (local.get $valueEnd))))
        (return)))
    (if (i32.eq (local.get $length) (i32.const 3))
      (then
        (if (i32.and
              (i32.eq (i32.load16_u align=1 (local.get $key)) (i32.const 0x7763))
              (i32.eq (i32.load8_u offset=2 (local.get $key)) (i32.const 0x64)))
          (then (global.set $cwdAt (local.get $value)) (global.set $cwdEnd (local.get $valueEnd))))
        (return)))
    (if (i32.and
          (i32.eq (local.get $length) (i32.const 9))
          (i64.eq (i64.load align=1 (local.get $key)) (i64.const 0x6d617473656d6974)))
      (then (global.set $timeAt (local.get $value)) (global.set $timeEnd (local.get $valueEnd)))))

  ;; Reads the pairs from the opening brace on. Answers the place of the first nested value, 1 if there is none, 0 if the
  ;; line is not plain.
  (func $readHead (param $at i32) (param $end i32) (result i32)
    (local $key i32) (local $value i32) (local $behind i32) (local $byte i32) (local $length i32)
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x7b)) (then (return (i32.const 0))))
    (loop $next
      (local.set $key (i32.add (local.get $at) (i32.const 1)))
      (if (i32.ne (i32.load8_u (local.get $key)) (i32.const 0x22)) (then (return (i32.const 0))))
      (local.set $value (call $behindString (local.get $key) (local.get $end)))
      (if (i32.eqz (local.get $value)) (then (return (i32.const 0))))
      (if (i32.ne (i32.load8_u (local.get $value)) (i32.const 0x3a)) (then (return (i32.const 0))))
      (local.set $key (i32.add (local.get $key) (i32.const 1)))
      (local.set $length (i32.sub (i32.sub (local.get $value) (local.get $key)) (i32.const 1)))
      (local.set $value (i32.add (local.get $value) (i32.const 1)))
      (local.set $byte (i32.load8_u (local.get $value)))
      (if (i32.or (i32.eq (local.get $byte) (i32.const 0x7b)) (i32.eq (local.get $byte) (i32.const 0x5b)))
        (then
          ;; message
          (global.set $isMessage
            (i32.and
              (i32.eq (local.get $length) (i32.const 7))
              (i32.and
                (i32.eq (i32.load align=1 (local.get $key)) (i32.const 0x7373656d))
                (i32.eq (i32.load offset=3 align=1 (local.get $key)) (i32.const 0x65676173)))))
          (return (local.get $value))))
      (if (i32.eq (local.get $byte) (i32.const 0x22))
        (then
          (local.set $behind (call $behindString (local.get $value) (local.get $end)))
          (if (i32.eqz (local.get $behind)) (then (return (i32.const 0))))
          (call $note
            (local.get $key) (local.get $length)
            (i32.add (local.get $value) (i32.const 1)) (i32.sub (local.get $behind) (i32.const 1)) (i32.const 1)))
        (else
          (local.set $behind (call $behindScalar (local.get $value) (local.get $end)))
          (call $note (local.get $key) (local.get $length) (local.get $value) (local.get $behind) (i32.const 0))))
      (local.set $at (local.get $behind))
      (br_if $next (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2c))))
    (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x7d)))

  ;; The place of the opening quote of the string whose closing quote is at $at, or 0 if it has escapes.
  (func $beforeString (param $at i32) (param $start i32) (result i32)
    (local $marks i32)
    (block $none
      (loop $next
        (br_if $none (i32.le_u (local.get $at) (local.get $start)))
        (local.set $marks (call $marks (i32.sub (local.get $at) (i32.const 16))))
        (if (i32.eqz (local.get $marks))
          (then
            (local.set $at (i32.sub (local.get $at) (i32.const 16)))
            (br $next))))
      ;; The last mark of the sixteen: bit 15 is the byte before $at.
      (local.set $at
        (i32.sub (local.get $at) (i32.sub (i32.clz (local.get $marks)) (i32.const 15))))
      (br_if $none (i32.le_u (local.get $at) (local.get $start)))
      (br_if $none (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5c)))
      (if (i32.ne (i32.load8_u (i32.sub (local.get $at) (i32.const 1))) (i32.const 0x5c))
        (then (return (local.get $at)))))
    (i32.const 0))

  ;; Reads the pairs backwards from the closing brace. Answers 0 if the line does not end with one.
  (func $readTail (param $start i32) (param $end i32) (result i32)
    (local $at i32) (local $valueEnd i32) (local $value i32) (local $keyEnd i32) (local $key i32) (local $isString i32)
    (local $byte i32)
    (local.set $at (i32.sub (local.get $end) (i32.const 1)))
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x7d)) (then (return (i32.const 0))))
    (block $done
      (loop $next
        ;; $at is the byte behind a value
        (local.set $valueEnd (local.get $at))
        (local.set $at (i32.sub (local.get $at) (i32.const 1)))
        (local.set $isString (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x22)))
        (if (local.get $isString)
          (then
            (local.set $value (call $beforeString (local.get $at) (local.get $start)))
            (br_if $done (i32.eqz (local.get $value))))
          (else
            (block $isOut
              (loop $back
                (br_if $done (i32.le_u (local.get $at) (local.get $start)))
                (local.set $byte (i32.load8_u (local.get $at)))
                (br_if $isOut
                  (i32.eqz
                    (i32.or
                      (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
                      (i32.or
                        (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x61)) (i32.const 26))
                        (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x2d)) (i32.const 2))))))
                (local.set $at (i32.sub (local.get $at) (i32.const 1)))
                (br $back)))
            (local.set $value (i32.add (local.get $at) (i32.const 1)))
            (br_if $done (i32.eq (local.get $value) (local.get $valueEnd)))))
        (local.set $keyEnd (i32.sub (local.get $value) (i32.const 2)))
        (br_if $done (i32.le_u (local.get $keyEnd) (local.get $start)))
        ;; ":
        (br_if $done (i32.ne (i32.load16_u align=1 (local.get $keyEnd)) (i32.const 0x3a22)))
        (local.set $key (call $beforeString (local.get $keyEnd) (local.get $start)))
        (br_if $done (i32.eqz (local.get $key)))
        (local.set $at (i32.sub (local.get $key) (i32.const 1)))
        (br_if $done (i32.le_u (local.get $at) (local.get $start)))
        (br_if $done (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x2c)))
        (local.set $key (i32.add (local.get $key) (i32.const 1)))
        (call $note
          (local.get $key)
          (i32.sub (local.get $keyEnd) (local.get $key))
          (i32.add (local.get $value) (local.get $isString))
          (i32.sub (local.get $valueEnd) (local.get $isString))
          (local.get $isString))
        (br $next)))
    (i32.const 1))

  ;; Notes the hash of the `id` of the object at $at. Answers 0 if it does not stand before everything nested.
  (func $noteId (param $at i32) (param $end i32) (result i32)
    (local $key i32) (local $value i32) (local $behind i32) (local $hash i32) (local $count i32)
    (block $none
      (br_if $none (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x7b)))
      (loop $next
        (local.set $key (i32.add (local.get $at) (i32.const 1)))
        (br_if $none (i32.ne (i32.load8_u (local.get $key)) (i32.const 0x22)))
        (local.set $value (call $behindString (local.get $key) (local.get $end)))
        (br_if $none (i32.eqz (local.get $value)))
        (br_if $none (i32.ne (i32.load8_u (local.get $value)) (i32.const 0x3a)))
        (local.set $value (i32.add (local.get $value) (i32.const 1)))
        (if (i32.eq (i32.load8_u (local.get $value)) (i32.const 0x22))
          (then
            (local.set $behind (call $behindString (local.get $value) (local.get $end)))
            (br_if $none (i32.eqz (local.get $behind))))
          (else
            (br_if $none (i32.eq (i32.load8_u (local.get $value)) (i32.const 0x7b)))
            (br_if $none (i32.eq (i32.load8_u (local.get $value)) (i32.const 0x5b)))
            (local.set $behind (call $behindScalar (local.get $value) (local.get $end)))))
        ;; "id"
        (if (i32.eq (i32.load align=1 (local.get $key)) (i32.const 0x22646922))
          (then
            (br_if $none (i32.ne (i32.load8_u (local.get $value)) (i32.const 0x22)))
            (local.set $hash (i32.const 0x811c9dc5))
            (local.set $value (i32.add (local.get $value) (i32.const 1)))
            (local.set $behind (i32.sub (local.get $behind) (i32.const 1)))
            (loop $each
              (if (i32.lt_u (local.get $value) (local.get $behind))
                (then
                  (local.set $hash
                    (i32.mul
                      (i32.xor (local.get $hash) (i32.load8_u (local.get $value)))
                      (i32.const 0x01000193)))
                  (local.set $value (i32.add (local.get $value) (i32.const 1)))
                  (br $each))))
            (local.set $count (i32.load offset=12 (global.get $notes)))
            (local.set $at (i32.add (global.get $notes) (i32.shl (local.get $count) (i32.const 2))))
            ;; The lines of one answer follow each other.
            (if (local.get $count)
              (then
                (if (i32.eq (i32.load offset=2044 (local.get $at)) (local.get $hash)) (then (return (i32.const 1))))))
            (br_if $none (i32.ge_u (local.get $count) (i32.const 8192)))
            (i32.store offset=2048 (local.get $at) (local.get $hash))
            (i32.store offset=12 (global.get $notes) (i32.add (local.get $count) (i32.const 1)))
            (return (i32.const 1))))
        (local.set $at (local.get $behind))
        (br_if $next (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2c)))))
    (i32.const 0))

  ;; Below, equal or above zero, like the texts of 24 bytes.
  (func $compareTimes (param $a i32) (param $b i32) (result i32)
    (local $end i32) (local $difference i64) (local $place i32)
    (local.set $end (i32.add (local.get $a) (i32.const 24)))
    (loop $next
      (local.set $difference
        (i64.xor (i64.load align=1 (local.get $a)) (i64.load align=1 (local.get $b))))
      (if (i64.ne (local.get $difference) (i64.const 0))
        (then
          ;; The first byte that differs is the lowest one.
          (local.set $place (i32.wrap_i64 (i64.shr_u (i64.ctz (local.get $difference)) (i64.const 3))))
          (return
            (i32.sub
              (i32.load8_u (i32.add (local.get $a) (local.get $place)))
              (i32.load8_u (i32.add (local.get $b) (local.get $place)))))))
      (local.set $a (i32.add (local.get $a) (i32.const 8)))
      (local.set $b (i32.add (local.get $b) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $a) (local.get $end))))
    (i32.const 0))

  (func $isKnownCwd (result i32)
    (local $i i32) (local $length i32)
    (if (i32.eqz (global.get $cwdAt)) (then (return (i32.const 1))))
    (local.set $length (i32.sub (global.get $cwdEnd) (global.get $cwdAt)))
    (if (i32.ne (local.get $length) (i32.load offset=32 (global.get $notes))) (then (return (i32.const 0))))
    (block $same
      (loop $next
        (br_if $same (i32.ge_u (local.get $i) (local.get $length)))
        (if (i32.ne
              (i32.load8_u (i32.add (global.get $cwdAt) (local.get $i)))
              (i32.load8_u offset=128 (i32.add (global.get $notes) (local.get $i))))
          (then (return (i32.const 0))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.const 1))

  ;; The time and the working directory of a line of the conversation. Answers 0 if one of them is not plain. A time
  ;; between two nested values is not looked for: the line is only noted, until one with a time follows.
  (func $noteEnvelope (param $at i32) (param $end i32) (result i32)
    (if (i32.eqz (call $isKnownCwd)) (then (return (i32.const 0))))
    (if (i32.eqz (global.get $timeAt))
      (then
        (i32.store offset=36 (global.get $notes) (local.get $at))
        (i32.store offset=40 (global.get $notes) (local.get $end))
        (return (i32.const 1))))
    (if (i32.ne (i32.sub (global.get $timeEnd) (global.get $timeAt)) (i32.const 24)) (then (return (i32.const 0))))
    (i32.store offset=36 (global.get $notes) (i32.const 0))
    (call $noteTime)
    (i32.const 1))

  (func $noteTime
    (local $least i32) (local $most i32)
    (local.set $least (i32.add (global.get $notes) (i32.const 64)))
    (local.set $most (i32.add (global.get $notes) (i32.const 96)))
    (if (i32.or
          (i32.eqz (i32.load offset=4 (global.get $notes)))
          (i32.lt_s (call $compareTimes (global.get $timeAt) (local.get $least)) (i32.const 0)))
      (then (call $copyTime (local.get $least))))
    (if (i32.or
          (i32.eqz (i32.load offset=4 (global.get $notes)))
          (i32.gt_s (call $compareTimes (global.get $timeAt) (local.get $most)) (i32.const 0)))
      (then (call $copyTime (local.get $most))))
    (call $count (i32.const 4)))

  (func $copyTime (param $to i32)
    (i64.store (local.get $to) (i64.load align=1 (global.get $timeAt)))
    (i64.store offset=8 (local.get $to) (i64.load offset=8 align=1 (global.get $timeAt)))
    (i64.store offset=16 (local.get $to) (i64.load offset=16 align=1 (global.get $timeAt))))

  (func $count (param $which i32)
    (local.set $which (i32.add (global.get $notes) (local.get $which)))
    (i32.store (local.get $which) (i32.add (i32.load (local.get $which)) (i32.const 1))))

  ;; Passes one line. Answers 0 if it is not plain.
  (func $pass (param $at i32) (param $end i32) (result i32)
    (local $nested i32) (local $first i32) (local $length i32)
    (global.set $typeAt (i32.const 0))
    (global.set $timeAt (i32.const 0))
    (global.set $cwdAt (i32.const 0))
    (global.set $isSide (i32.const 0))
    (global.set $isMessage (i32.const 0))
    (local.set $nested (call $readHead (local.get $at) (local.get $end)))
    (if (i32.eqz (local.get $nested)) (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $nested) (i32.const 1))
      (then
        (if (i32.eqz (call $readTail (local.get $nested) (local.get $end))) (then (return (i32.const 0))))))
    (if (i32.eqz (global.get $typeAt)) (then (return (i32.const 0))))
    (local.set $length (i32.sub (global.get $typeEnd) (global.get $typeAt)))
    (local.set $first (i32.load align=1 (global.get $typeAt)))
    ;; user
    (if (i32.and (i32.eq (local.get $length) (i32.const 4)) (i32.eq (local.get $first) (i32.const 0x72657375)))
      (then
        (if (i32.eqz (call $noteEnvelope (local.get $at) (local.get $end))) (then (return (i32.const 0))))
        (if (i32.eqz (global.get $isSide)) (then (call $count (i32.const 8))))
        (return (i32.const 1))))
    ;; assi(stant)
    (if (i32.and (i32.eq (local.get $length) (i32.const 9)) (i32.eq (local.get $first) (i32.const 0x69737361)))
      (then
        ;; An id that is noted although the line is read again counts once: ids are a set.
        (if (i32.eqz (global.get $isSide))
          (then
            (if (i32.eqz (global.get $isMessage)) (then (return (i32.const 0))))
            (if (i32.eqz (call $noteId (local.get $nested) (local.get $end))) (then (return (i32.const 0))))))
        (return (call $noteEnvelope (local.get $at) (local.get $end)))))
    ;; atta(chment), syst(em), prog(ress)
    (if (i32.or
          (i32.and (i32.eq (local.get $length) (i32.const 10)) (i32.eq (local.get $first) (i32.const 0x61747461)))
          (i32.or
            (i32.and (i32.eq (local.get $length) (i32.const 6)) (i32.eq (local.get $first) (i32.const 0x74737973)))
            (i32.and (i32.eq (local.get $length) (i32.const 8)) (i32.eq (local.get $first) (i32.const 0x676f7270)))))
      (then (return (call $noteEnvelope (local.get $at) (local.get $end)))))
    ;; ai-t(itle), last(-prompt): written again after every turn, and the last one counts
    (if (i32.and (i32.eq (local.get $length) (i32.const 8)) (i32.eq (local.get $first) (i32.const 0x742d6961)))
      (then
        (i32.store offset=16 (global.get $notes) (local.get $at))
        (i32.store offset=20 (global.get $notes) (local.get $end))
        (return (i32.const 1))))
    (if (i32.and (i32.eq (local.get $length) (i32.const 11)) (i32.eq (local.get $first) (i32.const 0x7473616c)))
      (then
        (i32.store offset=24 (global.get $notes) (local.get $at))
        (i32.store offset=28 (global.get $notes) (local.get $end))
        (return (i32.const 1))))
    ;; perm(ission-mode), mode, file(-history-…), queu(e-operation), cost(-state): a list shows nothing of them
    (i32.or
      (i32.or (i32.eq (local.get $first) (i32.const 0x6d726570)) (i32.eq (local.get $first) (i32.const 0x65646f6d)))
      (i32.or
        (i32.eq (local.get $first) (i32.const 0x656c6966))
        (i32.or (i32.eq (local.get $first) (i32.const 0x75657571)) (i32.eq (local.get $first) (i32.const 0x74736f63))))))

  ;; Passes lines as long as they are plain. Answers where the first other one starts, or $end.
  (func (export "walk") (param $at i32) (param $end i32) (param $to i32) (result i32)
    (local $lineEnd i32) (local $mask i32) (local $feed v128) (local $behind i32)
    (global.set $notes (local.get $to))
    (local.set $feed (i8x16.splat (i32.const 0x0a)))
    (loop $line
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $end))))
      (local.set $lineEnd (local.get $at))
      (block $found
        (loop $next
          (local.set $mask (i8x16.bitmask (i8x16.eq (v128.load align=1 (local.get $lineEnd)) (local.get $feed))))
          (if (local.get $mask)
            (then
              (local.set $lineEnd (i32.add (local.get $lineEnd) (i32.ctz (local.get $mask))))
              (br $found)))
          (local.set $lineEnd (i32.add (local.get $lineEnd) (i32.const 16)))
          (br_if $next (i32.lt_u (local.get $lineEnd) (local.get $end)))))
      (if (i32.gt_u (local.get $lineEnd) (local.get $end)) (then (local.set $lineEnd (local.get $end))))
      (local.set $behind (i32.add (local.get $lineEnd) (i32.const 1)))
      (if (i32.gt_u (local.get $lineEnd) (local.get $at))
        (then
          (if (i32.eq (i32.load8_u (i32.sub (local.get $lineEnd) (i32.const 1))) (i32.const 0x0d))
            (then (local.set $lineEnd (i32.sub (local.get $lineEnd) (i32.const 1)))))))
      (if (i32.eqz (call $pass (local.get $at) (local.get $lineEnd))) (then (return (local.get $at))))
      (call $count (i32.const 0))
      (local.set $at (local.get $behind))
      (br $line))
    (unreachable)))
