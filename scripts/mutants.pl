# Small errors in C code, made up by scripts/mutate: mechanical_mutants(FILE, TEXT) lists all that
# it can think of, each with its place and what would stand there. They lie within the bodies of
# functions: in expressions, not in the names and types that a declaration begins with, and not in
# what is asserted or said to the user when something went wrong.
use strict;
use warnings;

# What an operator, a comparison or a word becomes. Of several, one is taken.
my %others = (
    '+' => ['-'], '-' => ['+'], '*' => ['/'], '/' => ['*'], '%' => ['*'],
    '+=' => ['-='], '-=' => ['+='], '*=' => ['/='], '/=' => ['*='], '%=' => ['/='],
    '++' => ['--'], '--' => ['++'],
    '<' => ['<=', '>='], '<=' => ['<', '>'], '>' => ['>=', '<='], '>=' => ['>', '<'],
    '==' => ['!='], '!=' => ['=='], '&&' => ['||'], '||' => ['&&'], '!' => [''],
    '&' => ['|'], '|' => ['&'], '^' => ['&'], '<<' => ['>>'], '>>' => ['<<'],
    '&=' => ['|='], '|=' => ['&='], '^=' => ['&='], '<<=' => ['>>='], '>>=' => ['<<='],
    'true' => ['false'], 'false' => ['true'],
);
my %two_sided = map { $_ => 1 } '+', '-', '*', '&';
my $symbol = qr/->|\+\+|--|<<=|>>=|<<|>>|[-+*\/%&|^<>=!]=|&&|\|\||./;
my $number = qr/(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[uUlLfF]*/;
my $keyword = qr/^(?:return|case|else|do|goto|sizeof|if|while|for|switch)$/;
my $type = qr/^(?:(?:const|static|unsigned|struct|RT_OWNED) )*
    (?:real|double|float|int|long|char|bool|void|unsigned|\w+_t|rt_\w+)(?:\ \w+)?[ *]*$/x;
my $said = qr/^(?:\w*assert|perror|\w+_(?:error|fail|say|complain))$/;

# The text with comments, strings, characters and preprocessor lines blanked out; every place
# stays where it was.
sub blanked {
    my ($text) = @_;
    return $text =~ s{
        ( /\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
        | ^[ \t]*\#(?:\\\n|[^\n])* )
    }{ $1 =~ s/[^\n]/ /gr }gsmexr;
}

# The tokens, each with its place; a bracket knows the one that it belongs to.
sub tokens_of {
    my ($code) = @_;
    my (@tokens, @open);
    while ($code =~ /\G\s*($number|\w+|$symbol)/gc) {
        my $token = { text => $1, at => $-[1] };
        push @tokens, $token;
        push @open, $#tokens if $token->{text} =~ /^[({[]$/;
        if ($token->{text} =~ /^[])}]$/ && @open) {
            my $partner = pop @open;
            ($tokens[$partner]{partner}, $token->{partner}) = ($#tokens, $partner);
        }
    }
    return @tokens;
}

# Whether an operator has a left side: it stands behind a name, a number or a bracket that closes
# something other than a cast.
sub has_left_side {
    my ($tokens, $i) = @_;
    my $before = $tokens->[$i - 1];
    return 0 if $before->{is_type} || $before->{text} =~ $keyword;
    return $before->{text} =~ /^[\w.]+$|^[])]$/;
}

# Marks the tokens between two places.
sub mark {
    my ($tokens, $from, $to, $as) = @_;
    $_->{$as} = 1 for @$tokens[$from .. $to];
}

# Casts and sizeof, the calls of asserts and of what tells the user, and {0}, the empty structure.
sub mark_what_stays {
    my ($tokens) = @_;
    for my $i (1 .. $#$tokens) {
        my ($token, $before) = @$tokens[$i, $i - 1];
        my $end = $token->{partner};
        next if !defined $end || $end < $i;
        $tokens->[$i + 1]{stays} = 1 if $token->{text} eq '{' && $tokens->[$i + 1]{text} eq '0';
        next if $token->{text} ne '(';
        my $inside = join ' ', map { $_->{text} } @$tokens[$i + 1 .. $end - 1];
        my $is_call = $before->{text} =~ /^\w+$/ && $before->{text} !~ $keyword;
        mark($tokens, $i, $end, 'is_type')
            if $before->{text} eq 'sizeof' || (!$is_call && $inside =~ $type);
        mark($tokens, $i - 1, $end, 'stays')
            if $before->{text} =~ $said || ($before->{text} eq 'fprintf' && $inside =~ /^stderr/);
    }
}

# The statements of a body, each from its first to its last token: a simple one ends with a
# semicolon, and what stands in brackets behind if, for, while and switch counts as one.
sub statements_of {
    my ($tokens, $from, $to) = @_;
    my ($start, @statements) = ($from);
    for (my $i = $from; $i <= $to; $i++) {
        my $text = $tokens->[$i]{text};
        my $end = $tokens->[$i]{partner};
        if ($i == $start && $text =~ /^(?:[{}]|else|do)$/) {
            $start++;
        } elsif ($i == $start && $text =~ /^(?:if|for|while|switch)$/) {
            push @statements, [$i + 1, $end = $tokens->[$i + 1]{partner}];
            ($i, $start) = ($end, $end + 1);
        } elsif ($text eq ':' && $tokens->[$start]{text} =~ /^(?:case|default)$/) {
            $start = $i + 1;
        } elsif ($text eq ';') {
            push @statements, [$start, $i];
            $start = $i + 1;
        } elsif (defined $end && $end > $i) {
            $i = $end;
        }
    }
    return @statements;
}

# The names and types of a declaration, in which nothing is computed: up to each =, and behind
# each comma up to the next.
sub mark_declarators {
    my ($tokens, $from, $to) = @_;
    my $value = 0;
    for (my $i = $from; $i <= $to; $i++) {
        my $end = $tokens->[$i]{partner};
        my $text = $tokens->[$i]{text};
        $value = $text eq '=' || ($value && $text ne ',');
        if (defined $end && $end > $i) {
            mark($tokens, $i, $end, 'stays') if !$value;
            $i = $end;
        } elsif (!$value) {
            $tokens->[$i]{stays} = 1;
        }
    }
}

sub is_declaration {
    my (@tokens) = @_;
    my $begin = join ' ', map { $_->{text} } @tokens;
    my $qualifier = qr/(?:const|static|unsigned|long|struct|enum) /;
    return $begin =~ /^$qualifier*\w+(?: \*| const)* \w+ (?:[=;,\[]|$)/
        && $tokens[0]{text} !~ $keyword;
}

# A whole number becomes a neighbour, any other is doubled, or 1 for 0.
sub other_numbers {
    my ($text) = @_;
    my ($digits, $suffix) = $text =~ /^(.*?)([uUlLfF]*)$/;
    return () if $text =~ /^0[xX]/;
    return $digits == 0 ? '1.0' : sprintf('%#.9g', 2 * $digits) if $digits =~ /[.eE]/;
    return map { "$_$suffix" } $digits + 1, $digits > 0 ? $digits - 1 : ();
}

sub others_of {
    my ($tokens, $i) = @_;
    my $text = $tokens->[$i]{text};
    return () if $tokens->[$i]{stays} || $tokens->[$i]{is_type};
    return other_numbers($text) if $text =~ /^\.?\d/;
    return () if $two_sided{$text} && !has_left_side($tokens, $i);
    return @{ $others{$text} || [] };
}

# The bodies of functions: what stands in braces behind a bracket, outside of all others.
sub bodies_of {
    my ($tokens) = @_;
    my @bodies;
    for (my $i = 0; $i < @$tokens; $i++) {
        my $end = $tokens->[$i]{partner};
        next if !defined $end || $end < $i;
        push @bodies, [$i, $end]
            if $tokens->[$i]{text} eq '{' && $i && $tokens->[$i - 1]{text} eq ')';
        $i = $end;
    }
    return @bodies;
}

sub mechanical_mutants {
    my ($file, $text) = @_;
    my @tokens = tokens_of(blanked($text));
    my @mutants;
    my $add = sub {
        my ($start, $end, @others) = @_;
        my $line = 1 + (substr($text, 0, $start) =~ tr/\n//);
        my $from = 1 + rindex $text, "\n", $start;
        my $to = index $text, "\n", $end;
        my $told = join ' ', split ' ', substr $text, $from, $to - $from;
        for my $new (@others) {
            my $before = substr $text, $from, $start - $from;
            my $becomes = join ' ', split ' ', $before . $new . substr $text, $end, $to - $end;
            push @mutants, {
                file => $file, line => $line, start => $start, length => $end - $start,
                new => $new, told => "$told  ->  $becomes",
            };
        }
    };
    mark_what_stays(\@tokens);
    for my $body (bodies_of(\@tokens)) {
        for my $statement (statements_of(\@tokens, @$body)) {
            my ($first, $last) = @$statement;
            my $declares = is_declaration(@tokens[$first .. $last]);
            mark_declarators(\@tokens, $first, $last) if $declares;
            for my $i ($first .. $last) {
                my @others = others_of(\@tokens, $i);
                my $at = $tokens[$i]{at};
                $add->($at, $at + length $tokens[$i]{text}, @others);
            }
            $add->($tokens[$first]{at}, $tokens[$last]{at}, '')
                if !$declares && $last > $first && $tokens[$last]{text} eq ';'
                && !$tokens[$first]{stays} && $tokens[$first]{text} !~ /^(?:return|goto)$/;
        }
    }
    return @mutants;
}

1;
